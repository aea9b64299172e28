import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { LeaseLostError } from '../../shared/errors.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { Cluster } from '../../shared/ports/cluster.ts';
import type { Fence } from '../../shared/ports/fence.ts';
import { sessionOf } from '../support/session.ts';
import { until } from '../support/until.ts';
import { type Gizmo, gizmo } from './cluster-contract.ts';

export interface FenceFixture {
  readonly cluster: Cluster;
  /** A custom resource that the fence is about, as is its status. */
  readonly kind: Kind<Gizmo>;
  namespace(): Promise<string>;
  close(): Promise<void>;
}

/** What strict mode relies on, held against every implementation. */
export function fenceContract(name: string, newFixture: () => Promise<FenceFixture>, skip?: string): void {
  describe(`Fence contract: ${name}`, { skip: skip ?? false }, () => {
    let fixture: FenceFixture;
    let fence: Fence;
    let holders = 0;
    before(async () => {
      fixture = await newFixture();
      assert(fixture.cluster.fence !== undefined);
      fence = fixture.cluster.fence;
    });
    after(() => fixture?.close());

    const signal = () => AbortSignal.timeout(20_000);
    const options = () => ({ fieldManager: 'driftless/test', signal: signal() });
    /** Of this process and this test alone. */
    const newHolder = () => `rev.${process.pid}-${Date.now()}.${++holders}`;
    const sessionFor = (holderIdentity: string) => sessionOf(fixture.cluster, { holderIdentity });
    const newGizmo = async () => {
      const namespace = await fixture.namespace();
      return await sessionFor(newHolder()).create(
        fixture.kind,
        gizmo(fixture.kind, { name: 'g', namespace }),
        options(),
      );
    };
    /** Whether the holder may still write; nothing is stored by asking. */
    const isOut = async (holderIdentity: string, object: Awaited<ReturnType<typeof newGizmo>>): Promise<boolean> => {
      const { name, namespace = '' } = object.metadata;
      const same = gizmo(fixture.kind, { name, namespace });
      return await sessionFor(holderIdentity)
        .apply(fixture.kind, object, same, options())
        .then(
          () => false,
          (error: unknown) => {
            assert.ok(error instanceof LeaseLostError, String(error));
            return true;
          },
        );
    };

    it('R22: refuses each kind of write of a holder that is on it as a lost lease, and lets all others write', async () => {
      const { kind } = fixture;
      const [late, thief] = [newHolder(), newHolder()];
      const first = await newGizmo();
      const { name, namespace = '' } = first.metadata;
      await sessionFor(late).patchStatus(kind, first, { phase: 'Pending' }, options());
      await fence.add([late], signal());
      const now = await sessionFor(thief).get(kind, { name, namespace }, signal());
      assert.ok(now);
      await until('the fence is in force', () => isOut(late, now), { everyMs: 5 });

      const session = sessionFor(late);
      await assert.rejects(session.create(kind, gizmo(kind, { name: 'h', namespace }), options()), LeaseLostError);
      await assert.rejects(
        session.apply(kind, now, gizmo(kind, { name, namespace }, { size: 2 }), options()),
        LeaseLostError,
      );
      await assert.rejects(session.patchStatus(kind, now, { phase: 'Ready' }, options()), LeaseLostError);
      await assert.rejects(session.delete(kind, now, signal()), LeaseLostError);
      assert.deepEqual(await session.get(kind, { name, namespace }, signal()), now);

      const changed = await sessionFor(thief).patchStatus(kind, now, { phase: 'Ready' }, options());
      await sessionFor(thief).delete(kind, changed, signal());
    });

    it('R22: takes many thieves at once, and forgets none', async () => {
      const object = await newGizmo();
      const groups = Array.from({ length: 40 }, () => [newHolder(), newHolder()]);
      await Promise.all(groups.map((group) => fence.add(group, signal())));
      for (const holder of groups.flat()) {
        await until(`${holder} is out`, () => isOut(holder, object), { everyMs: 5 });
      }
    });

    it('may be told the same again', async () => {
      const [object, holder] = [await newGizmo(), newHolder()];
      await fence.add([holder], signal());
      await fence.add([holder], signal());
      await until('the fence is in force', () => isOut(holder, object), { everyMs: 5 });
    });
  });
}
