import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checksOf } from '../../src/conformance/checks.js';
import { HELP, parseCommand, UsageError } from '../../src/conformance/command-line.js';
import { CONTRACTS } from '../../src/conformance/contract.js';
import type { Contract } from '../../src/conformance/contract.js';
import { runChecks } from '../../src/conformance/run-checks.js';
import { callerOf } from '../../src/conformance/service.js';
import { buildInventoryApp } from '../../src/services/inventory/app.js';
import { buildPaymentApp } from '../../src/services/payment/app.js';
import { startService } from '../services/service-harness.js';

/** A service that forgets nothing, but for the flaws that a test gives it. */
type Flaw =
  | 'forgets keys'
  | 'takes another body'
  | 'charges twice in a race'
  | 'undoes twice'
  | 'lives on after its undo'
  | 'leaves no tombstone'
  | 'needs no key'
  | 'has no problem documents';

describe('conformance', () => {
  it('the payment service keeps every clause', async () => {
    const payment = await startService('payment', buildPaymentApp);
    try {
      assert.deepEqual(await brokenClauses(payment.port, CONTRACTS.payment), []);
    } finally {
      await payment.stop();
    }
  });

  it('the inventory service keeps every clause', async () => {
    const inventory = await startService('inventory', buildInventoryApp);
    try {
      for (const [sku, onHand] of [
        ['DEFAULT', 100],
        ['SOLD-OUT', 0],
      ] as const) {
        await inventory.send('PUT', `/stock/${sku}`, { onHand });
      }
      assert.deepEqual(await brokenClauses(inventory.port, CONTRACTS.inventory), []);
    } finally {
      await inventory.stop();
    }
  });

  for (const [flaw, broken] of [
    [undefined, []],
    ['forgets keys', ['repeat', 'race', 'other-body']],
    ['takes another body', ['other-body']],
    ['charges twice in a race', ['race']],
    ['undoes twice', ['undo', 'undo-race']],
    ['lives on after its undo', ['after-undo', 'overtaking']],
    ['leaves no tombstone', ['tombstone']],
    ['needs no key', ['key-required']],
    ['has no problem documents', ['key-required', 'other-body', 'after-undo', 'tombstone']],
  ] as const) {
    it(`a service that ${flaw ?? 'has no flaw'} breaks ${broken.join(', ') || 'nothing'}`, async () => {
      const found = await withFlawed(flaw, (port) => brokenClauses(port, AWARDS));

      assert.deepEqual(
        broken.filter((clause) => !found.includes(clause)),
        [],
        `found ${found.join(', ')}`,
      );
      if (broken.length < 2) assert.deepEqual(found, broken);
    });
  }

  it('says what was not looked at where there is no ledger', async () => {
    const findings = await withFlawed(undefined, (port) =>
      findingsOf(port, { ...AWARDS, ledgerPath: undefined }),
    );

    const { isKept, seen } = findings.find(({ clause }) => clause === 'race')!;
    assert.deepEqual(
      [isKept, seen],
      [true, 'not seen: the effects: there is no ledger to look at'],
    );
  });

  it('finds every clause broken where nothing listens', async () => {
    const port = await withFlawed(undefined, (number) => Promise.resolve(number));

    const findings = await findingsOf(port, AWARDS);

    assert.ok(findings.length >= 10);
    assert.ok(findings.every(({ isKept, seen }) => !isKept && /ECONNREFUSED/.test(seen ?? '')));
  });

  it('understands a step of your own, and says what is missing', () => {
    const args = ['step', '--url', 'http://127.0.0.1:1', '--step-path', '/awards'];
    args.push('--step-body', '{"points":10}', '--other-body', '{"points":20}');
    args.push('--undo-path', '/revocations', '--key-member', 'awardKey', '--ledger', '/ledger');

    assert.throws(() => parseCommand(args), new UsageError('--undone is needed.'));
    assert.throws(() => parseCommand(['step', '--url', 'nowhere']), UsageError);
    assert.throws(() => parseCommand([]), new UsageError('Say one of payment, inventory, step.'));
    const command = parseCommand([...args, '--undone', 'revoked']);
    assert.deepEqual(command.name === 'check' && command.contract, AWARDS);
    assert.ok(HELP.includes('--key-member'));
  });
});

const AWARDS: Contract = {
  forward: {
    path: '/awards',
    body: { points: 10 },
    otherBody: { points: 20 },
    refusedBody: undefined,
  },
  undo: {
    path: '/revocations',
    keyMember: 'awardKey',
    undone: 'revoked',
    alreadyUndone: 'already-revoked',
  },
  ledgerPath: '/ledger',
};

const findingsOf = (port: number, contract: Contract) =>
  runChecks(
    checksOf(
      callerOf({ baseUrl: `http://127.0.0.1:${port}`, token: undefined }, contract),
      contract,
    ),
  );

const brokenClauses = async (port: number, contract: Contract) =>
  (await findingsOf(port, contract)).filter(({ isKept }) => !isKept).map(({ clause }) => clause);

interface Line {
  readonly kind: 'award' | 'revoke' | 'void';
  readonly key: string;
  readonly orderId: string;
  readonly points?: number;
}

async function withFlawed<T>(
  flaw: Flaw | undefined,
  act: (port: number) => Promise<T>,
): Promise<T> {
  const lines: Line[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? '/', 'http://service');
      if (request.method === 'GET') {
        const orderId = url.searchParams.get('orderId');
        return response.end(JSON.stringify(lines.filter((line) => line.orderId === orderId)));
      }
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, never>;
      const key = String(request.headers['idempotency-key'] ?? '');
      const [status, document] = await answerTo(url.pathname, key, body);
      response.statusCode = status;
      return response.end(JSON.stringify(document));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await act((server.address() as AddressInfo).port);
  } finally {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }

  function problem(status: number, slug: string): [number, object] {
    return [status, flaw === 'has no problem documents' ? { slug } : { type: `/problems/${slug}` }];
  }

  async function answerTo(
    path: string,
    key: string,
    body: Record<string, string & number>,
  ): Promise<[number, object]> {
    const { orderId = '', points = 0, awardKey = '' } = body;
    if (key === '' && flaw !== 'needs no key') return problem(400, 'idempotency-key-missing');
    const find = (kind: Line['kind'], of: string) =>
      lines.find((line) => line.kind === kind && line.key === of);
    if (path === '/awards') {
      const earlier = find('award', key);
      if (flaw === 'charges twice in a race')
        await new Promise((resolve) => setTimeout(resolve, 20));
      const isUndone = find('revoke', key) !== undefined && flaw !== 'lives on after its undo';
      if (isUndone || find('void', key) !== undefined) return problem(409, 'award-voided');
      const isOther = earlier !== undefined && earlier.points !== points;
      if (isOther && flaw !== 'takes another body' && flaw !== 'forgets keys') {
        return problem(409, 'idempotency-key-reused');
      }
      if (earlier === undefined || flaw === 'forgets keys') {
        lines.push({ kind: 'award', key, orderId, points });
      }
      return [201, { awardKey: key, orderId, points }];
    }
    if (find('award', awardKey) === undefined) {
      if (flaw !== 'leaves no tombstone' && find('void', awardKey) === undefined) {
        lines.push({ kind: 'void', key: awardKey, orderId });
      }
      return [200, { outcome: 'voided' }];
    }
    const isFirst = find('revoke', awardKey) === undefined || flaw === 'undoes twice';
    if (isFirst) lines.push({ kind: 'revoke', key: awardKey, orderId });
    return [200, { outcome: isFirst ? 'revoked' : 'already-revoked' }];
  }
}
