import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  ActivityCancellationDetails,
  ApplicationFailure,
  CancelledFailure,
} from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createInventoryActivities } from '../../src/activities/inventory.js';
import { createPaymentActivities } from '../../src/activities/payment.js';
import { REPORT_MARGIN_MS } from '../../src/domain/limits.js';

const CHARGE = {
  key: 'ORD-1:pay',
  orderId: 'ORD-1',
  amountMinor: 1_000,
  currency: 'JPY',
  paymentMethod: 'pm_ok',
};
const REFUND = { key: 'ORD-1:comp:pay', orderId: 'ORD-1', chargeKey: 'ORD-1:pay' };
const RESERVATION = {
  key: 'ORD-1:inv',
  orderId: 'ORD-1',
  items: [{ sku: 'DEFAULT', quantity: 1 }],
};
const DONE = { status: 201, body: { chargeKey: CHARGE.key, amount: 1_000 } };

interface Scripted {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}
const problem = (status: number, slug: string): Scripted => ({
  status,
  body: { type: `/problems/${slug}` },
});

describe('step activities', () => {
  let server: Server;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let requests: { readonly headers: IncomingMessage['headers']; readonly body: string }[];

  before(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        requests.push({ headers: request.headers, body });
        answer(request, response);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(() => {
    requests = [];
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  describe('sort an answer to a forward call:', () => {
    const rows: readonly (readonly [string, Scripted, string])[] = [
      ['the documented 201', DONE, 'done'],
      ['201 for another amount', { status: 201, body: { ...DONE.body, amount: 1 } }, 'StepUnknown'],
      [
        '201 for another key',
        { status: 201, body: { ...DONE.body, chargeKey: 'x' } },
        'StepUnknown',
      ],
      ['201 that is no JSON', { status: 201, body: '<html>' }, 'StepUnknown'],
      ['200 instead of 201', { ...DONE, status: 200 }, 'StepUnknown'],
      ['204', { status: 204 }, 'StepUnknown'],
      ['402 of its own', problem(402, 'payment-declined'), 'PaymentDeclined'],
      ['422 of its own', problem(422, 'payment-declined'), 'PaymentDeclined'],
      ['402 of a proxy', { status: 402, body: 'pay for the proxy' }, 'StepRejected'],
      ['409 voided', problem(409, 'charge-voided'), 'StepVoided'],
      ['409 key reused', problem(409, 'idempotency-key-reused'), 'StepRejected'],
      ['409 key in use', problem(409, 'request-in-progress'), 'StepUnknown'],
      ...[400, 404, 405, 413, 415].map(
        (status) => [`${status}`, problem(status, 'validation-failed'), 'StepRejected'] as const,
      ),
      ...[301, 302, 307, 401, 403, 408, 425, 429, 500, 502, 503, 504].map(
        (status) => [`${status}`, problem(status, 'whatever'), 'StepUnknown'] as const,
      ),
    ];
    for (const [name, scripted, expected] of rows) {
      it(`${name} is ${expected}`, async () => {
        answer = script(scripted);

        assert.equal(await resultOf(() => run('chargePayment', CHARGE)), expected);
      });
    }

    it('a connection that is cut is StepUnknown', async () => {
      answer = (request) => request.socket.destroy();

      assert.equal(await resultOf(() => run('chargePayment', CHARGE)), 'StepUnknown');
    });

    it('an answer that is cut is StepUnknown', async () => {
      answer = (request, response) => {
        response.writeHead(201, { 'content-length': '1000' });
        response.write('{"chargeKey":', () => request.socket.destroy());
      };

      assert.equal(await resultOf(() => run('chargePayment', CHARGE)), 'StepUnknown');
    });

    it('an answer that never ends is StepUnknown, and not kept', async () => {
      answer = (_request, response) => {
        response.writeHead(201);
        const more = (): void => {
          if (response.writable) response.write('x'.repeat(65_536), more);
        };
        more();
      };

      assert.equal(await resultOf(() => run('chargePayment', CHARGE)), 'StepUnknown');
    });

    it('a service that is away is StepUnknown', async () => {
      const { port } = server.address() as AddressInfo;
      const away = createServer().listen(0, '127.0.0.1');
      await once(away, 'listening');
      const awayPort = (away.address() as AddressInfo).port;
      away.close();
      await once(away, 'close');
      assert.notEqual(awayPort, port);

      assert.equal(
        await resultOf(() => run('chargePayment', CHARGE, { port: awayPort })),
        'StepUnknown',
      );
    });
  });

  describe('sort an answer to an undo:', () => {
    const rows: readonly (readonly [string, Scripted, string])[] = [
      ['refunded', { status: 200, body: { outcome: 'refunded' } }, 'done'],
      ['already refunded', { status: 200, body: { outcome: 'already-refunded' } }, 'done'],
      ['voided', { status: 200, body: { outcome: 'voided' } }, 'done'],
      ['another outcome', { status: 200, body: { outcome: 'released' } }, 'StepUnknown'],
      ['no outcome', { status: 200, body: {} }, 'StepUnknown'],
      ...[400, 402, 404, 409, 410, 422].map(
        (status) =>
          [`${status}`, problem(status, 'idempotency-key-reused'), 'UndoRefused'] as const,
      ),
      ...[302, 401, 403, 408, 425, 429, 500, 503].map(
        (status) => [`${status}`, problem(status, 'whatever'), 'StepUnknown'] as const,
      ),
    ];
    for (const [name, scripted, expected] of rows) {
      it(`${name} is ${expected}`, async () => {
        answer = script(scripted);

        assert.equal(await resultOf(() => run('refundPayment', REFUND)), expected);
      });
    }
  });

  it('sends the key, the token and equal bytes on every attempt', async () => {
    answer = script(DONE);

    await run('chargePayment', CHARGE, { token: 'secret', attempt: 1 });
    await run('chargePayment', CHARGE, { token: 'secret', attempt: 7 });

    const [first, second] = requests;
    assert.equal(first?.headers['idempotency-key'], CHARGE.key);
    assert.equal(first.headers.authorization, 'Bearer secret');
    assert.equal(
      first.body,
      '{"orderId":"ORD-1","amount":1000,"currency":"JPY","paymentMethod":"pm_ok"}',
    );
    assert.equal(second?.body, first.body);
  });

  it('tells out of stock from declined', async () => {
    answer = script(problem(422, 'out-of-stock'));

    assert.equal(await resultOf(() => run('reserveInventory', RESERVATION)), 'OutOfStock');
    assert.equal(await resultOf(() => run('chargePayment', CHARGE)), 'StepRejected');
  });

  it('keeps what Retry-After asks for, in seconds and as a date', async () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
    const cases = [
      ['7', 7_000, 7_000],
      [inAnHour, 3_590_000, 3_600_000],
      ['Thu, 01 Jan 1970 00:00:00 GMT', 0, 0],
      ['999999999', 3_600_000, 3_600_000],
    ] as const;
    for (const [header, least, most] of cases) {
      answer = script({ status: 503, headers: { 'retry-after': header } });

      const failure = await failureOf(() => run('chargePayment', CHARGE));

      const delayMs = Number(failure.nextRetryDelay);
      assert.ok(delayMs >= least && delayMs <= most, `${header}: ${delayMs}`);
      assert.deepEqual(failure.details, [{ retryAfterMs: delayMs }]);
    }
  });

  it('ends an attempt at its time limit, as unknown', async () => {
    answer = () => undefined;

    const failure = await failureOf(() => run('chargePayment', CHARGE, { limitMs: 50 }));

    assert.equal(failure.type, 'StepUnknown');
    assert.match(failure.message, /no answer within 50 ms/);
  });

  for (const [reason, details, expected] of [
    ['CANCELLED', { cancelRequested: true }, CancelledFailure],
    // Somebody else must repeat it: nobody called the order off.
    ['WORKER_SHUTDOWN', { workerShutdown: true }, ApplicationFailure],
  ] as const) {
    it(`aborts the call at ${reason}, and ends with a ${expected.name}`, async () => {
      const environment = anEnvironment({ startToCloseTimeoutMs: 60_000 });
      let hungUp: Promise<unknown> | undefined;
      answer = (request) => {
        hungUp = once(request.socket, 'close');
        environment.cancel(reason, new ActivityCancellationDetails(details));
      };

      await assert.rejects(
        () => environment.run(() => activities().chargePayment(CHARGE)),
        expected,
      );
      await hungUp;
    });
  }

  interface RunOptions {
    readonly port?: number;
    readonly token?: string;
    readonly attempt?: number;
    readonly limitMs?: number;
  }

  function activities({ port, token }: RunOptions = {}) {
    const actualPort = port ?? (server.address() as AddressInfo).port;
    const downstream = { baseUrl: `http://127.0.0.1:${actualPort}`, token };
    return {
      ...createPaymentActivities(downstream),
      ...createInventoryActivities(downstream),
    };
  }

  function run(
    name: 'chargePayment' | 'refundPayment' | 'reserveInventory',
    input: typeof CHARGE | typeof REFUND | typeof RESERVATION,
    options: RunOptions = {},
  ): Promise<unknown> {
    const environment = anEnvironment({
      attempt: options.attempt ?? 1,
      startToCloseTimeoutMs: (options.limitMs ?? 5_000) + REPORT_MARGIN_MS,
    });
    const activity = activities(options)[name] as (input: unknown) => Promise<unknown>;
    return environment.run<[unknown], unknown, typeof activity>(activity, input);
  }
});

const anEnvironment = (info: ConstructorParameters<typeof MockActivityEnvironment>[0]) =>
  new MockActivityEnvironment(info, { logger: new DefaultLogger('ERROR', () => undefined) });

function script({ status, body, headers }: Scripted) {
  return (_request: IncomingMessage, response: ServerResponse): void => {
    const isText = typeof body === 'string';
    response.writeHead(status, {
      'content-type': isText ? 'text/html' : 'application/problem+json',
      ...(status >= 300 && status < 400 ? { location: '/elsewhere' } : {}),
      ...headers,
    });
    response.end(body === undefined ? undefined : isText ? body : JSON.stringify(body));
  };
}

/** `done`, or the type of the failure. */
async function resultOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return 'done';
  } catch (error) {
    assert.ok(error instanceof ApplicationFailure, String(error));
    return error.type ?? 'none';
  }
}

async function failureOf(call: () => Promise<unknown>): Promise<ApplicationFailure> {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof ApplicationFailure, String(error));
    return error;
  }
  throw new Error('the call must fail');
}
