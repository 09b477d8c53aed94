/** What a store learns about its indexes while it makes their keys; it becomes part of the index records. */

import type { IndexKeys } from '../document/index-keys.ts'
import type { IndexRecord } from '../store/catalog.ts'

/** Numbers of indexes, by what was learned about them. */
export interface IndexFindings {
  /** A key was too long and was cut. */
  readonly cut: Set<number>
  /** An item would have had too many keys and got none. */
  readonly gaps: Set<number>
  /** An item has several keys. */
  readonly several: Set<number>
}

export function noFindings(): IndexFindings {
  return { cut: new Set(), gaps: new Set(), several: new Set() }
}

export function isNothing({ cut, gaps, several }: IndexFindings): boolean {
  return cut.size + gaps.size + several.size === 0
}

/** Adds what the keys of one item show about an index. */
export function learn(findings: IndexFindings, index: number, { keys, isCut, isComplete }: IndexKeys): void {
  if (isCut) findings.cut.add(index)
  if (!isComplete) findings.gaps.add(index)
  if (keys.length > 1) findings.several.add(index)
}

export function addFindings(findings: IndexFindings, more: IndexFindings): void {
  for (const name of ['cut', 'gaps', 'several'] as const) for (const number of more[name]) findings[name].add(number)
}

/** Removes what the records say already. */
export function dropKnown(findings: IndexFindings, indexes: readonly IndexRecord[]): void {
  for (const { definition, hasCutKeys, hasGaps, hasSeveralKeys } of indexes) {
    if (hasCutKeys) findings.cut.delete(definition.number)
    if (hasGaps) findings.gaps.delete(definition.number)
    if (hasSeveralKeys) findings.several.delete(definition.number)
  }
}
