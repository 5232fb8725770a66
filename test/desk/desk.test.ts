import assert from 'node:assert/strict';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Locator, Page } from 'playwright-core';
import { heal } from '../support/heal.js';
import { impatientStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';
import { until } from '../support/until.js';
import { startBrowser } from './browser.js';

/** A folder for pictures of the page, for eyes; none are taken where it is not set. */
const PICTURES = process.env['DESK_PICTURES'];

/** The narrowest telephone and a desktop. */
const WIDTHS = [360, 1440];

/** 60 s for the page to show something: as patient as a test is with the stack. */
const PATIENCE_MS = 60_000;

describe('order desk', function () {
  this.timeout(120_000);
  let stack: RunningStack;
  let browser: Browser;
  let page: Page;
  /** What the browser complains of: scripts, styles and connections that the page's policy forbids, and bugs. */
  let complaints: string[] = [];

  before(async function () {
    this.timeout(180_000); // builds, downloads and starts on a fresh machine
    [stack, browser] = await Promise.all([impatientStack(), startBrowser()]);
  });
  beforeEach(async () => {
    page = await openDesk();
  });
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') await picture(`failed-${Date.now()}`);
    await page.context().close();
    await heal(stack);
    assert.deepEqual(complaints.splice(0), []);
  });
  after(() => browser.close());

  it('shows a first order, its replay, and a key that is used for another body', async () => {
    await press('Place order');
    await sees(answer(0), '201', 'confirmed');
    await press('Send it again');
    await sees(answer(0), 'Same key, same body', '201', 'replayed', 'confirmed');
    await press('Same key, other amount');
    await sees(answer(0), '409', 'idempotency-key-reused');

    await sees(row('Charge'), 'done', ':pay', 'charge 1000');
    await sees(row('Reserve'), 'done', ':inv', 'reserve');
    assert.match(await linkToTemporal(), /\/workflows\/order-[0-9a-f]{32}$/);
  });

  it('shows one order of twenty posts of one key, and twenty of twenty keys', async () => {
    await press('One key, twenty at once');
    await sees(answer(0), '201', 'confirmed');
    const links = await answer(0).getByRole('button').allInnerTexts();
    assert.equal(new Set(links).size, 1);

    await press('Twenty orders at once');
    await sees(answer(0), '20 keys at once', '20 ×', '201');
  });

  it('shows a compensation beside the ledgers: what was sold out is refunded', async () => {
    await choose('Sold out');
    await press('Place order');

    await sees(answer(0), '422', 'out-of-stock');
    await sees(row('Charge'), 'done', 'charge 1000');
    await sees(row('Reserve'), 'refused');
    await sees(row('Undo: Refund'), 'done', ':comp:pay', 'refund 1000');
    await sees(page.getByRole('log'), 'Order cancelled, out-of-stock');
  });

  it('shows a declined order, and a lost answer that is asked for again and charged once', async () => {
    await choose('Declined');
    await press('Place order');
    await sees(answer(0), '402', 'payment-declined');
    await sees(row('Charge'), 'refused', '–');

    await choose('Lost answer');
    await press('Place order');
    await sees(answer(0), '201', 'confirmed');
    await sees(row('Charge'), 'done', '2', 'charge 1000');
    assert.equal(await row('Charge').getByText('charge 1000').count(), 1);
  });

  it('cancels an order whose charge is held', async () => {
    await choose('Held charge');
    await press('Place order');
    await sees(answer(0), '202', 'processing');
    await sees(row('Charge'), 'running');

    await press('Cancel the order');

    await sees(page.getByRole('log'), 'Order cancelled, order-cancelled');
    await sees(page.locator('main'), 'Final:');
  });

  it('finds an undo that is stuck, and resolves it, by the keyboard alone', async () => {
    const before = await stuckCount();
    await tabTo(page.getByLabel('Goes through'));
    while (!(await page.getByLabel('Poison undo').isChecked())) {
      await page.keyboard.press('ArrowDown');
    }
    await tabTo(button('Place order'));
    await page.keyboard.press('Enter');
    await sees(page.getByRole('log'), 'Order needs a person');
    await until(async () => (await stuckCount()) > before);

    await tabTo(button(/^Need a person/));
    await page.keyboard.press('Enter');
    const orderId = /ORD-\w+/.exec(page.url())?.[0] ?? '';
    const inList = page.locator('.order-row').filter({ hasText: orderId.slice(-8) });
    await sees(inList, 'needs a person');
    await tabTo(page.getByLabel('Why, for the auditor'));
    await page.keyboard.type('refunded by bank transfer');
    await tabTo(button('Resolve: settled by hand'));
    await page.keyboard.press('Enter');

    await sees(page.getByRole('log'), 'ops says resolve', 'cancelled, resolved-by-operator');
    await inList.waitFor({ state: 'detached', timeout: PATIENCE_MS });
    const { json } = await stack.get(`/orders/${orderId}`);
    assert.equal(json['reason'], 'resolved-by-operator');
  });

  it('goes on when the API is restarted under the open page', async () => {
    await choose('Poison undo');
    await press('Place order');
    await sees(page.getByRole('log'), 'Order needs a person');

    await stack.kill('api');
    await sees(page.locator('main'), 'The connection is lost');
    await sees(page.locator('main'), 'Live:');
    await press('Release held calls, heal the services');
    await sees(page.locator('main'), 'The services are healed.');
    await page.getByLabel('Why, for the auditor').fill('the service is repaired');
    await until(async () => {
      await press('Retry the undo');
      const said = page.getByText(/The retry was taken|needs a person to|can not be reached/);
      await said.first().waitFor({ timeout: PATIENCE_MS });
      return (await page.getByText('The retry was taken').count()) > 0 || (await isFinal());
    });

    await sees(page.getByRole('log'), 'Refund done', 'Order cancelled, out-of-stock');
    // What a page can't keep its browser from saying of a server that is away.
    complaints = complaints.filter((text) => !/net::ERR_|503/.test(text));
  });

  it('lists by status and user, page by page, with a hundred orders running', async () => {
    await stack.payment.faults([{ operation: 'charge', fault: 'hold' }]);
    const order = { userId: 'crowd', amount: 1_000 };
    const headers = { prefer: 'respond-async' };
    await Promise.all(Array.from({ length: 100 }, () => stack.post(order, { headers })));

    await page.getByLabel('User').last().fill('crowd');
    await page.keyboard.press('Enter');
    const rows = page.locator('.order-row');
    await until(async () => (await rows.filter({ hasText: 'crowd' }).count()) === 20);
    const first = await rows.first().innerText();
    for (let n = 0; n < 4; n++) {
      const top = await rows.first().innerText();
      await press('Older');
      await until(async () => (await rows.first().innerText()) !== top);
    }
    assert.ok(await button('Older').isDisabled());
    await press('Newest');
    await until(async () => idIn(await rows.first().innerText()) === idIn(first));
    await rows.first().click();
    await sees(page.getByRole('log'), 'Order placed');

    await stack.payment.faults([]);
    await stack.payment.release();
    await sees(page.locator('main'), 'Final:');
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of WIDTHS) {
      it(`is fit for all to use, ${width} px wide and ${colorScheme}`, async () => {
        await page.context().close();
        page = await openDesk(width, colorScheme);
        await choose('Sold out');
        await press('Place order');
        await sees(row('Undo: Refund'), 'done');
        await choose('Poison undo');
        await press('Place order');
        await button('Retry the undo').waitFor({ timeout: PATIENCE_MS });
        await page.locator('summary').click();
        await assertAccessible(`${colorScheme}-${width}`);

        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        assert.equal(overflow, 0, 'nothing sticks out');
      });
    }
  }

  async function openDesk(width = 1440, colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
    const viewport = { width, height: 900 };
    const context = await browser.newContext({ viewport, colorScheme });
    const opened = await context.newPage();
    opened.setDefaultTimeout(PATIENCE_MS);
    // Statuses that the page shows as answers are no complaint.
    opened.on('console', (message) => {
      const text = message.text();
      if (message.type() === 'error' && !/status of 4(02|09|22)/.test(text)) complaints.push(text);
    });
    opened.on('pageerror', (error) => complaints.push(String(error)));
    await opened.goto(`http://127.0.0.1:${stack.env['PORT'] ?? ''}/`);
    await opened.getByLabel('Poison undo').waitFor();
    return opened;
  }

  const button = (name: string | RegExp): Locator =>
    page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });

  const press = (name: string): Promise<void> => button(name).click();

  const choose = (label: string): Promise<void> => page.getByLabel(label, { exact: true }).check();

  /** The nth newest answer. */
  const answer = (nth: number): Locator => page.locator('.answers li').nth(nth);

  /** The row of a step or an undo. */
  const row = (what: string): Locator =>
    page.getByRole('row').filter({ has: page.getByRole('cell', { name: new RegExp(`^${what}`) }) });

  /** Waits until all of it is there. */
  async function sees(where: Locator, ...texts: readonly string[]): Promise<void> {
    let matching = where;
    for (const hasText of texts) matching = matching.filter({ hasText });
    await matching.first().waitFor({ timeout: PATIENCE_MS });
  }

  async function tabTo(target: Locator): Promise<void> {
    const isThere = (): Promise<boolean> =>
      target.evaluate((element: unknown) => {
        const { document } = globalThis as unknown as { document: { activeElement: unknown } };
        return element === document.activeElement;
      });
    for (let presses = 0; presses < 200 && !(await isThere()); presses++) {
      await page.keyboard.press('Tab');
    }
    assert.ok(await isThere(), 'Tab never came there');
  }

  const linkToTemporal = async (): Promise<string> =>
    (await page.getByRole('link', { name: /Temporal Web UI/ }).getAttribute('href')) ?? '';

  const stuckCount = async (): Promise<number> =>
    Number(/\d+/.exec(await button(/^Need a person/).innerText())?.[0]);

  const isFinal = async (): Promise<boolean> => (await page.getByText('Final:').count()) > 0;

  const idIn = (text: string): string | undefined => /…\w+/.exec(text)?.[0];

  async function picture(name: string): Promise<void> {
    if (PICTURES === undefined) return;
    await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
  }

  async function assertAccessible(name: string): Promise<void> {
    await picture(name);
    const { violations } = await new AxeBuilder({ page }).analyze();
    assert.deepEqual(
      violations.map(({ id, impact, nodes }) => `${String(impact)} ${id}: ${nodes[0]?.html ?? ''}`),
      [],
    );
  }
});
