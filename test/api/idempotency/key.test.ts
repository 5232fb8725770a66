import assert from 'node:assert/strict';
import fc from 'fast-check';
import { digestOf, workflowIdFor } from '../../../src/api/idempotency/key.js';

describe('keys', () => {
  it('gives a key one digest and one workflow ID for ever', () => {
    const owned = { tenant: 'demo', scope: 'POST:/orders', key: 'k' };

    assert.equal(digestOf('k'), '8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a');
    assert.equal(workflowIdFor('order-', owned), 'order-baa830d4cf5a1964f473263ece4c1527');
  });

  it('gives no two owners of a key one workflow ID, wherever the colons are', () => {
    const part = fc.string({
      minLength: 1,
      maxLength: 6,
      unit: fc.constantFrom('a', ':', '1', 'é'),
    });
    const owned = fc.record({ tenant: part, scope: part, key: part });

    fc.assert(
      fc.property(owned, owned, (one, other) => {
        fc.pre(JSON.stringify(Object.values(one)) !== JSON.stringify(Object.values(other)));
        assert.notEqual(workflowIdFor('order-', one), workflowIdFor('order-', other));
      }),
    );
  });

  it('keeps the key out of the workflow ID and the ID short', () => {
    const id = workflowIdFor('order-', {
      tenant: 'demo',
      scope: 'POST:/orders',
      key: 'x'.repeat(255),
    });

    assert.match(id, /^order-[0-9a-f]{32}$/);
  });
});
