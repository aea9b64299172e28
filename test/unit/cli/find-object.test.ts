import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseController, itemKeyOf } from '../../../infra/cli/find-object.ts';
import { defineController, plan } from '../../../shared/reconcile/controller.ts';
import { Widget, widgetController } from '../../support/objects.ts';

const widget = widgetController();
const other = defineController({ name: 'other', kind: Widget, owns: [], plan: () => plan({}) });
const node = defineController({
  kind: { group: 'test.driftless.dev', version: 'v1', kind: 'Site', plural: 'sites', namespaced: false },
  owns: [],
  plan: () => plan({}),
});

describe('the object that a command is about', () => {
  for (const kind of ['widget', 'widgets', 'Widget', 'widgets.test.driftless.dev']) {
    it(`is of the kind that kubectl would take '${kind}' for`, () => {
      assert.equal(chooseController([widget, node], { kind }), widget);
    });
  }

  it('is the controller’s that was named, or of the only one', () => {
    assert.equal(chooseController([widget, other], { kind: 'widget', controller: 'other' }), other);
    assert.equal(chooseController([widget], {}), widget);
  });

  it('is not guessed: what there is, is listed', () => {
    assert.throws(() => chooseController([widget, node], { kind: 'gadget' }), {
      code: 'UNKNOWN_KIND',
      message: 'there is no kind gadget; there are: widget (Widget.test.driftless.dev), site (Site.test.driftless.dev)',
    });
    assert.throws(() => chooseController([widget, other], { kind: 'widget' }), {
      code: 'UNKNOWN_KIND',
      message: 'several controllers could be meant (widget, other): choose one with --controller',
    });
  });

  it('has a namespace exactly where its kind has', () => {
    assert.deepEqual(itemKeyOf(widget, 'local', 'default/w'), {
      cluster: 'local',
      controller: 'widget',
      group: 'test.driftless.dev',
      kind: 'Widget',
      namespace: 'default',
      name: 'w',
    });
    assert.equal(itemKeyOf(node, 'local', 'berlin').namespace, '');
    for (const text of ['w', '', '/', 'default/', '/w', 'a/b/c']) {
      assert.throws(() => itemKeyOf(widget, 'local', text), {
        message: `'${text}' does not name a Widget: expected NAMESPACE/NAME`,
      });
    }
    assert.throws(() => itemKeyOf(node, 'local', 'default/berlin'), { code: 'UNKNOWN_KIND' });
  });
});
