/**
 * Gives SKUs their first stock, `node deploy/app/seed-stock.js SKU=COUNT …`, over HTTP like anybody. A SKU that has
 * stock already is left alone, so it may run at each start.
 */
const { INVENTORY_URL = '', INVENTORY_TOKEN = '' } = process.env;
const headers = {
  'content-type': 'application/json',
  ...(INVENTORY_TOKEN !== '' && { authorization: `Bearer ${INVENTORY_TOKEN}` }),
};

for (const argument of process.argv.slice(2)) {
  const [sku = '', count = ''] = argument.split('=');
  const url = `${INVENTORY_URL}/stock/${encodeURIComponent(sku)}`;
  const found = await fetch(url, { headers });
  if (found.ok) continue;
  if (found.status !== 404) await refuse(url, found);
  const body = JSON.stringify({ onHand: Number(count) });
  const put = await fetch(url, { method: 'PUT', headers, body });
  if (!put.ok) await refuse(url, put);
  process.stdout.write(`${sku}: ${count}\n`);
}

async function refuse(url, response) {
  process.stderr.write(`${url} answered ${response.status}: ${await response.text()}\n`);
  process.exit(1);
}
