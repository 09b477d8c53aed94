/** The selected rows: some by their keys, or all that match, which is a query and not a list of rows. */

export type SelectionState = { kind: 'keys'; keys: ReadonlySet<string> } | { kind: 'all' }

export class Selection {
  readonly state: SelectionState

  constructor(state: SelectionState = { kind: 'keys', keys: new Set() }) {
    this.state = state
  }

  get isAll(): boolean {
    return this.state.kind === 'all'
  }

  get isEmpty(): boolean {
    return this.state.kind === 'keys' && this.state.keys.size === 0
  }

  has(key: string): boolean {
    return this.state.kind === 'all' || this.state.keys.has(key)
  }

  /** How many, of `total` that match. */
  count(total: number): number {
    return this.state.kind === 'all' ? total : this.state.keys.size
  }

  /** One more or one less; after "all" the loaded rows but this one. */
  toggled(key: string, loaded: readonly string[]): Selection {
    const keys = new Set(this.state.kind === 'all' ? loaded : this.state.keys)
    if (!keys.delete(key)) keys.add(key)
    return new Selection({ kind: 'keys', keys })
  }

  /** Also everything between the two, in the order of the rows. */
  extended(from: string, to: string, loaded: readonly string[]): Selection {
    const [first, last] = [loaded.indexOf(from), loaded.indexOf(to)].toSorted((a, b) => a - b)
    if (first === undefined || last === undefined || first === -1) return this.toggled(to, loaded)
    const keys = new Set(this.state.kind === 'all' ? loaded : this.state.keys)
    for (const key of loaded.slice(first, last + 1)) keys.add(key)
    return new Selection({ kind: 'keys', keys })
  }

  without(gone: ReadonlySet<string>): Selection {
    if (this.state.kind === 'all' || ![...gone].some(key => this.has(key))) return this
    return new Selection({ kind: 'keys', keys: new Set([...this.state.keys].filter(key => !gone.has(key))) })
  }
}
