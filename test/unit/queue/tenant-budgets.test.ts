import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TenantBudgets, tenantOf } from '../../../shared/queue/tenant-budgets.ts';

function countOf(budgets: TenantBudgets, tenant: string, nowMs: number): number {
  let count = 0;
  while (count < 1_000 && budgets.take(tenant, nowMs) === 'within') count += 1;
  return count;
}

describe('budgets of tenants', () => {
  it('R24: a tenant is a namespace of one cluster', () => {
    assert.equal(tenantOf({ cluster: 'eu', namespace: 'shop' }), 'eu/shop');
    assert.equal(tenantOf({ cluster: 'eu', namespace: '' }), 'eu/');
  });

  it('R24: each has those of a second at once, and then its rate, whatever another one does', () => {
    const budgets = new TenantBudgets(50);
    assert.equal(countOf(budgets, 'noisy', 0), 51);
    assert.equal(budgets.nextAt('noisy'), 20);
    assert.equal(budgets.nextAt('quiet'), Number.NEGATIVE_INFINITY);
    assert.equal(countOf(budgets, 'noisy', 100), 5);
    assert.equal(countOf(budgets, 'quiet', 100), 51);
  });

  it('says once who is over its budget, and how much went to the background when it is full again', () => {
    const budgets = new TenantBudgets(50);
    assert.equal(countOf(budgets, 'noisy', 0), 51);
    assert.deepEqual(budgets.news(0), [{ kind: 'over-budget', tenant: 'noisy' }]);
    for (let n = 0; n < 30; n += 1) {
      assert.equal(budgets.take('noisy', 10), 'over');
      budgets.demote('noisy');
    }
    assert.equal(budgets.take('noisy', 20), 'within');
    assert.deepEqual(budgets.news(1_039), []);
    assert.deepEqual(budgets.stats, { overBudget: 1, demoted: 30 });
    assert.deepEqual(budgets.news(1_040), [{ kind: 'within-budget', tenant: 'noisy', demoted: 30 }]);
    assert.deepEqual(budgets.stats, { overBudget: 0, demoted: 30 });
  });

  it('forgets whose budget is full: memory is bounded by those who rang lately', () => {
    const budgets = new TenantBudgets(50);
    for (let n = 0; n < 10_000; n += 1) budgets.take(`tenant-${n}`, n);
    assert(budgets.size <= 21, `${budgets.size} tenants`);
    budgets.take('last', 20_000);
    assert.equal(budgets.size, 1);
  });

  it('R24: in no span does a tenant get more than a second’s budget at once and its rate', () => {
    const asking = fc.array(fc.record({ afterMs: fc.nat(400), tenant: fc.constantFrom('a', 'b') }), {
      maxLength: 200,
      size: 'max',
    });
    fc.assert(
      fc.property(asking, fc.integer({ min: 1, max: 20 }), (asked, perSecond) => {
        const budgets = new TenantBudgets(perSecond);
        const got: number[] = [];
        let now = 0;
        for (const { afterMs, tenant } of asked) {
          now += afterMs;
          if (budgets.take(tenant, now) === 'within' && tenant === 'a') got.push(now);
        }
        for (const [first, from] of got.entries()) {
          for (const [more, until] of got.slice(first).entries()) {
            const most = perSecond + ((until - from) * perSecond) / 1_000 + 1;
            assert(more + 1 <= most + 1e-6, `${more + 1} from ${from} to ${until}`);
          }
        }
      }),
    );
  });
});
