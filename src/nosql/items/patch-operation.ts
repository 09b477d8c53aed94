/** Makes an operation of a patch: it checks the version and the condition, and then applies the patch. */

import { RequestError } from '../../base/error.ts'
import { heavyBytesMin } from '../../base/heavy-turns.ts'
import { textOf } from '../../document/body.ts'
import type { ItemKey } from '../../store/item.ts'
import type { Step } from '../../store/writing.ts'
import { writeRu } from '../../units/cost.ts'
import type { ContainerView } from '../http/container-view.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { itemDraft } from './item-body.ts'
import type { ItemOperation } from './item-operation.ts'
import type { Patch } from './patch.ts'
import type { JudgeCondition } from './patch-condition.ts'
import { patchItemText } from './patch-item.ts'

/** Thrown when the item to patch is large. Never sent to a client. */
export class LargePatch extends RequestError {
  readonly bytes: number

  constructor(bytes: number) {
    super('unsupported', 'The item is large.')
    this.bytes = bytes
  }
}

interface PatchOptions {
  readonly ifVersion: number | undefined
  /** The size of the patch. */
  readonly bytes: number
  readonly strict: boolean
  /** Judges the condition of the patch. */
  readonly judge: JudgeCondition | undefined
  /** Throws `LargePatch` the first time if the item is large, so that the store does it as a large write. */
  readonly tellsSize?: boolean
}

export function patchOperation(
  view: ContainerView,
  key: ItemKey,
  patch: Patch,
  { ifVersion, bytes, strict, judge, tellsSize = false }: PatchOptions,
): ItemOperation {
  let mayTell = tellsSize
  const decide: Step['decide'] = (found, moment) => {
    if (found === undefined) throw outcomeError('missing')
    const { version } = found
    if (ifVersion !== undefined && version !== ifVersion) throw outcomeError('changed')
    const stored = textOf(found.body)
    if (mayTell && stored.length >= heavyBytesMin) {
      mayTell = false
      throw new LargePatch(stored.length)
    }
    if (judge?.(stored, { moment, version }) === false) throw outcomeError('changed')
    const { text, ttl } = patchItemText(view, key, stored, patch, { strict })
    return { kind: 'replace', draft: itemDraft(view, { text }), ttl }
  }
  return { kind: 'patch', key, chargeRu: writeRu(bytes), decide }
}
