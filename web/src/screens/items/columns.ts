/** The columns of the grid: which there are, which are shown at first, and how wide they are. */

import type { Completion, Container } from '../../api/shapes.ts'

/** `value` columns show a path of the item; the others facts of every item. */
export type Column =
  | { kind: 'key'; name: string; level: number }
  | { kind: 'value'; name: string; path: string }
  | { kind: 'ttl' | 'written' | 'size'; name: string }

/** What the user chose for a container; undefined: nothing yet. */
export interface ColumnChoice {
  /** Names of columns that are always there and are hidden now. */
  hidden: string[]
  /** Paths, in order. */
  paths: string[]
}

export const pathsMax = 6
/** A path that few items have makes an empty column. */
const shareMin = 0.5
const scalars = new Set(['string', 'number', 'boolean', 'bool', 'int', 'long', 'double', 'date', 'decimal'])

/** `cart[0].sku` or `device.os` as the API's `/device/os`; names may hold anything. */
export function pathOf(dotted: string): string {
  return `/${dotted
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.')
    .map(name => name.replaceAll('~', '~0').replaceAll('/', '~1'))
    .join('/')}`
}

/** `/device/os` as people write it. */
export function pathName(path: string): string {
  return path
    .slice(1)
    .split('/')
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')
}

/** For the `columns` parameter: commas separate paths there. */
export function columnsParameter(paths: readonly string[]): string {
  return paths.map(path => path.replaceAll('%', '%25').replaceAll(',', '%2C')).join(',')
}

/** Paths that can be columns: no elements of arrays, not what stands in its own column anyway. */
export function choosablePaths(
  { paths }: Pick<Completion, 'paths'>,
  container: Pick<Container, 'api' | 'partitionKey'>,
): string[] {
  const taken = new Set([container.api === 'mongo' ? '_id' : 'id', 'ttl', ...keyNames(container)])
  return paths.map(({ path }) => path).filter(path => !path.includes('[]') && !taken.has(path) && !path.startsWith('_'))
}

/** The paths shown at first: where the key says little, one short text that most items have. */
export function firstPaths(completion: Completion, container: Pick<Container, 'api' | 'partitionKey'>): string[] {
  const hasKey = container.partitionKey.length > 0 && container.partitionKey[0] !== '/id'
  if (hasKey) return []
  const allowed = new Set(choosablePaths(completion, container))
  const best = completion.paths
    .filter(
      ({ path, types, share }) => allowed.has(path) && share >= shareMin && types.every(type => scalars.has(type)),
    )
    .toSorted((a, b) => Number(b.types[0] === 'string') - Number(a.types[0] === 'string') || b.share - a.share)[0]
  return best ? [pathOf(best.path)] : []
}

function keyNames({ partitionKey }: Pick<Container, 'partitionKey'>): string[] {
  return partitionKey.map(path => path.replace(/^\//, '').replaceAll('/', '.'))
}

/** All columns that could be shown, in order; `id` and `expires in` are always there and not among them. */
export function columnsOf(container: Pick<Container, 'api' | 'partitionKey'>, paths: readonly string[]): Column[] {
  const isIdKey = container.partitionKey.length === 1 && ['/id', '_id'].includes(container.partitionKey[0]!)
  const keys = isIdKey ? [] : container.partitionKey.map((name, level): Column => ({ kind: 'key', name, level }))
  return [
    ...keys,
    ...paths.map((path): Column => ({ kind: 'value', name: pathName(path), path })),
    { kind: 'ttl', name: 'ttl' },
    { kind: 'written', name: container.api === 'mongo' ? 'last modified' : 'last written' },
    { kind: 'size', name: 'size' },
  ]
}

/** The tracks of wide, medium and narrow lists; columns leave in this order: written, size, key, ttl. */
export function trackSizes(columns: readonly Column[]): { wide: string; medium: string; narrow: string } {
  const has = (kind: Column['kind']) => columns.some(column => column.kind === kind)
  const many = columns.filter(({ kind }) => kind === 'key' || kind === 'value').length
  const tracks = (widths: { id: string; name: string; ttl: string; life: string; written?: string; size: string }) =>
    [
      '38px',
      widths.id,
      ...Array.from({ length: many }, () => widths.name),
      has('ttl') && widths.ttl,
      widths.life,
      has('written') && widths.written,
      has('size') && widths.size,
    ]
      .filter(Boolean)
      .join(' ')
  return {
    wide: tracks({
      id: 'minmax(96px,1fr)',
      name: 'minmax(78px,.7fr)',
      ttl: '140px',
      life: 'minmax(190px,1.3fr)',
      written: '92px',
      size: '74px',
    }),
    medium: tracks({
      id: 'minmax(92px,1fr)',
      name: 'minmax(56px,.5fr)',
      ttl: '136px',
      life: 'minmax(160px,1.4fr)',
      size: '66px',
    }),
    narrow: '38px minmax(84px,1fr) minmax(128px,1.4fr)',
  }
}
