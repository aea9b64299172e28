import { isDeepStrictEqual } from 'node:util';
import { MemoryCluster, mergePatched } from '../../shared/adapters/memory/cluster.ts';
import { openApiServer } from './cluster-api-server.ts';
const ConfigMap: any = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
const Deployment: any = { group: '', version: 'v1', kind: 'PodTemplate', plural: 'podtemplates', namespaced: true };
const server = await openApiServer();
let seed = Number(process.argv[2] ?? 1);
const rnd = () => { seed = (seed + 0x6d2b79f5) | 0; let t = Math.imul(seed ^ (seed >>> 15), 1 | seed); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 4294967296; };
const pick = <T>(xs: readonly T[]): T => xs[Math.floor(rnd() * xs.length)] as T;
const maybe = (p = 0.5) => rnd() < p;
const map = (keys: string[]) => Object.fromEntries(keys.filter(() => maybe()).map((k) => [k, pick(['1', '2'])]));
const norm = (o: any, own: string) => {
  if (!o) return o;
  const m = o.metadata;
  const mf = (m.managedFields ?? []).map((e: any) => [e.manager, e.operation, e.subresource ?? '', e.fieldsV1]).map(([a,b,c,f]: any) => [a,b,c,strip(f)]).filter((e: any) => Object.keys(e[3]).length).sort((a: any, b: any) => JSON.stringify(a.slice(0,3)).localeCompare(JSON.stringify(b.slice(0,3))));
  const body = own === 'PodTemplate' ? depl(o) : { data: o.data, spec: o.spec, status: o.status };
  return sortKeys({ labels: m.labels, annotations: m.annotations, finalizers: m.finalizers && [...m.finalizers].sort(), generation: own === 'PodTemplate' ? 0 : m.generation, deleting: !!m.deletionTimestamp, body, mf });
};
// Update entries carry "." for maps on the real server
const strip = (f: any): any => { const r = strip0(f); if (r['f:metadata'] && Object.keys(r['f:metadata']).length === 0) delete r['f:metadata']; if (r['f:status'] && Object.keys(r['f:status']).length === 0) delete r['f:status']; return r; };
const strip0 = (f: any): any => Object.fromEntries(Object.entries(f).filter(([k, v]) => k !== '.' && !(/^f:(annotations|labels|spec|status)$/.test(k) && Object.keys(v as object).every((x) => x === '.'))).sort(([a],[b]) => a < b ? -1 : 1).map(([k, v]) => [k, strip(v)]));
const depl = (o: any) => ({ g: o.template.spec.terminationGracePeriodSeconds, c: o.template.spec.containers.map((c: any) => ({ name: c.name, image: c.image, args: c.args, env: c.env && [...c.env].sort((a: any, b: any) => a.name.localeCompare(b.name)) })).sort((a: any, b: any) => a.name.localeCompare(b.name)) });
const sortKeys = (v: any): any => Array.isArray(v) ? v.map(sortKeys) : v && typeof v === 'object' ? Object.fromEntries(Object.keys(v).sort().filter((k) => v[k] !== undefined).map((k) => [k, sortKeys(v[k])])) : v;
const signal = () => AbortSignal.timeout(20000);
let bad = 0, steps = 0;
const kinds = [ConfigMap, server.gizmos, Deployment];
for (let round = 0; round < Number(process.argv[3] ?? 10); round++) {
  const kind: any = pick(kinds);
  const namespace = await server.namespace();
  const mem = new MemoryCluster();
  const key = { namespace, name: 'x' };
  let versions: Record<string, any> = { mem: [], real: [] };
  const trace: string[] = [];
  for (let i = 0; i < 14; i++) {
    steps++;
    const op = pick(['apply', 'apply', 'apply', 'apply', 'edit', 'status', 'delete']);
    const mgr = pick(['a', 'b']);
    const force = maybe(0.3);
    const meta: any = { name: 'x', namespace };
    if (maybe(0.4)) meta.labels = {z: '1', ...map(['l', 'm'])};
    if (maybe(0.3)) meta.annotations = {z:'1',...map(['l', 'm'])};
    if (maybe(0.3)) meta.finalizers = ['x.io/a', 'x.io/b'].filter(() => maybe());
    const api = kind.group ? `${kind.group}/${kind.version}` : 'v1';
    const obj: any = { apiVersion: api, kind: kind.kind, metadata: meta };
    if (kind === ConfigMap && maybe(0.8)) obj.data = { z: '1', ...map(['p', 'q', 'r']) };
    if (kind === server.gizmos && maybe(0.8)) { obj.spec = {}; if (maybe()) obj.spec.size = pick([1, 2]); if (maybe()) obj.spec.color = pick(['r', 'b']); }
    if (kind === Deployment) {
      const cs = ['web', 'side'].filter((n) => n === 'web' || maybe(0.3)).map((name) => ({ name, image: pick(['i', 'j']), ...(maybe(0.3) ? { args: [pick(['1', '2'])] } : {}), ...(maybe() ? { env: ['A', 'B'].filter(() => maybe()).map((n) => ({ name: n, value: pick(['1', '2']) })) } : {}) }));
      obj.template = { metadata: { labels: { a: 'b' } }, spec: { terminationGracePeriodSeconds: pick([1,2]), containers: cs } };
    }
    const run = async (c: any, live: any, which: string) => {
      const withPre = { ...obj, metadata: { ...meta } };
      if (pre.uid && live) withPre.metadata.uid = live.metadata.uid;
      if (pre.rv && live) withPre.metadata.resourceVersion = live.metadata.resourceVersion;
      if (pre.stale && versions[which][0]) { withPre.metadata.uid = versions[which][0].metadata.uid; withPre.metadata.resourceVersion = versions[which][0].metadata.resourceVersion; }
      switch (op) {
        case 'apply': { const r = await c.apply(kind, withPre, { fieldManager: mgr, force, signal: signal() }); return { created: r.created }; }
        case 'status': if (!live || kind !== server.gizmos) return {}; await c.patchStatus(kind, live, { phase: st }, { fieldManager: mgr, signal: signal() }); return {};
        case 'delete': if (!live || !del) return {}; await c.delete(kind, live, signal()); return {};
        case 'edit': if (!live) return {}; if (which === 'mem') mem.edit(kind, key, 'ed', (o: any) => mergePatched(o, patch) as any); else await server.patch(kind, key, 'ed', patch); return {};
      }
      return {};
    };
    const pre = { uid: maybe(0.2), rv: maybe(0.2), stale: maybe(0.1) };
    const st = pick(['P', 'Q', null]); const del = maybe(0.5);
    const patch: any = kind === ConfigMap ? { data: { z: '1', [pick(['p', 'q', 'r'])]: pick(['1', '2', null]) } } : kind === Deployment ? { template: { spec: { terminationGracePeriodSeconds: pick([1, 2, 3]) } }, metadata: { annotations: { l: pick(['1', '2', null]) } } } : { spec: { size: pick([1, 2, 3, null]) }, metadata: { labels: { l: pick(['1', '2', null]) } } };
    const out: any = {};
    for (const [which, c] of [['mem', mem], ['real', server.cluster]] as const) {
      const before: any = await c.get(kind, key, signal());
      if (before) versions[which].push(before);
      let r: any;
      try { r = await run(c, before, which); } catch (e: any) { r = { error: e.constructor.name, code: e.status?.code, conflicts: e.conflicts && [...e.conflicts].sort((a: any, b: any) => (a.field + a.manager).localeCompare(b.field + b.manager)) }; }
      const after: any = await c.get(kind, key, signal());
      out[which] = { r, same: before?.metadata.resourceVersion === after?.metadata.resourceVersion, after: norm(after, kind.kind) };
    }
    trace.push(`${op} ${mgr} force=${force} ${JSON.stringify(op === 'edit' ? patch : op === 'apply' ? obj : '')} pre=${JSON.stringify(pre)}`);
    if (!isDeepStrictEqual(sortKeys(out.mem), sortKeys(out.real))) {
      bad++;
      console.log(`--- round ${round} ${kind.kind}\n${trace.join('\n')}\nMEM  ${JSON.stringify(sortKeys(out.mem))}\nREAL ${JSON.stringify(sortKeys(out.real))}`);
      break;
    }
  }
  for (let j = 0; j < 2; j++) { const o: any = await server.cluster.get(kind, key, signal()); if (o) { await server.patch(kind, key, 'z', { metadata: { finalizers: null } }).catch(() => {}); await server.cluster.delete(kind, o, signal()); } }
}
console.log({ steps, bad });
await server.close();
