/** What an indexing policy says about paths: which are indexed, and which indexes it declares. */

import { anyElement, type IndexComponent, type IndexPath } from '../../document/index-definition.ts'
import type { IndexDraft } from '../../store/catalog.ts'
import type { ContainerDefinition } from './container-definition.ts'
import type { IndexingPolicy } from './indexing-policy.ts'
import { arrayStep, type PolicyPath, scanPolicyPath } from './policy-path.ts'

/** The most precise matching path of the policy decides. A path that nothing matches is not indexed. */
export function isPathIndexed(policy: IndexingPolicy, path: IndexPath): boolean {
  if (policy.indexingMode === 'none') return false
  const included = Math.max(-1, ...policy.includedPaths.map(entry => precision(entry.path, path)))
  const excluded = Math.max(-1, ...policy.excludedPaths.map(entry => precision(entry.path, path)))
  return included > excluded
}

/** How precisely a policy path matches: -1 for no match, twice its depth for a subtree, one more if exact. */
function precision(policyPath: string, path: IndexPath): number {
  const { steps, end } = parsed(policyPath)
  const fits = steps.every((step, at) => (step === arrayStep ? path[at] === anyElement : path[at] === step))
  if (!fits) return -1
  if (end === '*') return steps.length * 2
  return steps.length === path.length ? steps.length * 2 + 1 : -1
}

/** Takes a definition as the catalog stores it. System containers have no indexing policy. */
export function declaredByDefinition(definition: unknown): IndexComponent[][] {
  const { indexingPolicy } = definition as Partial<ContainerDefinition>
  return indexingPolicy === undefined ? [] : declaredIndexes(indexingPolicy)
}

export function declaredIndexes({ compositeIndexes = [] }: IndexingPolicy): IndexComponent[][] {
  return compositeIndexes.map(index =>
    index.map(({ path, order }) => ({
      path: parsed(path).steps.map(step => (step === arrayStep ? anyElement : step)),
      isDescending: order === 'descending',
    })),
  )
}

/** Unique keys are unique within one partition key. */
export function uniqueIndexes({ uniqueKeyPolicy }: ContainerDefinition): IndexDraft[] {
  const keys = uniqueKeyPolicy?.uniqueKeys ?? []
  return keys.map(({ paths }) => ({
    components: paths.map(path => ({
      path: parsed(path).steps.map(step => (step === arrayStep ? anyElement : step)),
      isDescending: false,
    })),
    uniqueness: 'partition',
    isDeclared: true,
  }))
}

/** Cannot fail: policies were checked before they were stored. */
function parsed(policyPath: string): PolicyPath {
  const path = scanPolicyPath(policyPath)
  return typeof path === 'number' ? { steps: [], end: '?' } : path
}
