/** What is learned about indexes while entries are made; it becomes part of their records. */

import type { IndexDefinition } from '../../document/index-definition.ts'
import type { IndexKeys } from '../../document/index-keys.ts'

/**
 * What writing taught about indexes: those with cut keys, with items that have none of their keys, or
 * several.
 */
export interface IndexFindings {
  readonly cut: Set<number>
  readonly gaps: Set<number>
  readonly several: Set<number>
}

export function noFindings(): IndexFindings {
  return { cut: new Set(), gaps: new Set(), several: new Set() }
}

/** What the keys of one item teach. */
export function find(
  findings: IndexFindings,
  { number }: IndexDefinition,
  { keys, isCut, isComplete }: IndexKeys,
): void {
  if (isCut) findings.cut.add(number)
  if (!isComplete) findings.gaps.add(number)
  if (keys.length > 1) findings.several.add(number)
}

export function addFindings(findings: IndexFindings, more: IndexFindings): void {
  for (const name of ['cut', 'gaps', 'several'] as const) for (const number of more[name]) findings[name].add(number)
}
