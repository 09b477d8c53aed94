/** Stores the scripts of a container. */

import type { Engine } from '../../engine/engine.ts'
import { type Script, type ScriptKind, scriptKinds } from '../definitions/script-definition.ts'
import type { ContainerView } from '../http/container-view.ts'
import { scriptRid } from '../http/resource-id.ts'
import { SystemResources } from './system-resources.ts'

export function openScripts(engine: Engine, view: ContainerView, kind: ScriptKind): Promise<SystemResources> {
  const { rid, self, record } = view
  const { mark } = scriptKinds[kind]
  return SystemResources.open(engine, 'scripts', {
    owner: `${rid} ${kind}`,
    self: `${self}${kind}/`,
    rid: sequence => scriptRid(record, sequence, mark),
  })
}

export async function findScript(
  engine: Engine,
  view: ContainerView,
  kind: ScriptKind,
  id: string,
): Promise<Script | undefined> {
  const found = await (await openScripts(engine, view, kind)).find(id)
  return found === undefined ? undefined : (JSON.parse(found.text) as Script)
}

/** Deletes the scripts of a deleted container. */
export async function deleteScripts(engine: Engine, view: ContainerView): Promise<void> {
  if (!(await engine.systemItems.hasContainers())) return
  for (const kind of Object.keys(scriptKinds) as ScriptKind[]) await (await openScripts(engine, view, kind)).deleteAll()
}
