/** What can be written at a place of a query: paths of sampled items, functions, keywords, operators. */

import type { Completion } from '../../api/shapes.ts'

export interface Offer {
  label: string
  kind: 'property' | 'function' | 'keyword' | 'variable'
  detail?: string
  /** What is written, if it is more than the label. */
  apply?: string
  boost?: number
}

const percent = (share: number) => (share >= 0.995 ? '100 %' : `${Math.max(1, Math.round(share * 100))} %`)

/** The names directly below a path: `device` has `os` and `app`. Elements of arrays are below `cart[]`. */
export function namesBelow({ paths }: Pick<Completion, 'paths'>, prefix: string): Offer[] {
  const start = prefix === '' ? '' : `${prefix}.`
  return paths
    .filter(
      ({ path }) => path.startsWith(start) && !/[.[]/.test(path.slice(start.length)) && path.length > start.length,
    )
    .map(({ path, types, share }) => ({
      label: path.slice(start.length),
      kind: 'property',
      detail: `${types.join(' or ')}  ${percent(share)}`,
      boost: path.startsWith('_') ? -20 : Math.round(share * 10),
    }))
}

/** `c.cart[0].` says `cart[]`; the first name is the alias of the container. */
export function pathBefore(dotted: string): string {
  return dotted
    .replace(/\[\s*(\d+|"[^"]*")?\s*\]/g, '[]')
    .split('.')
    .slice(1, -1)
    .join('.')
}

export function sqlOffers(completion: Completion, before: string): { offers: Offer[]; typed: number } {
  const dotted = /[A-Za-z_$][\w$]*(?:\[[^\]]*\])*(?:\.[\w$]*(?:\[[^\]]*\])*)+$/.exec(before)?.[0]
  if (dotted !== undefined) {
    return { offers: namesBelow(completion, pathBefore(dotted)), typed: /[\w$]*$/.exec(dotted)![0].length }
  }
  const typed = /[\w$@]*$/.exec(before)![0].length
  const functions = (completion.functions ?? []).map(
    ({ name, signature, family }): Offer => ({
      label: name,
      kind: 'function',
      detail: `${signature}  ${family}`,
      apply: `${name}(`,
    }),
  )
  const own = (completion.userFunctions ?? []).map(
    (name): Offer => ({ label: `udf.${name}`, kind: 'function', detail: 'user-defined', apply: `udf.${name}(` }),
  )
  const keywords = (completion.keywords ?? []).map((label): Offer => ({ label, kind: 'keyword', boost: 1 }))
  return {
    offers: [{ label: 'c', kind: 'variable', detail: 'the items', boost: 5 }, ...keywords, ...own, ...functions],
    typed,
  }
}

/** Within quotes or before them: names of fields and operators of Mongo. */
export function mongoOffers(completion: Completion, before: string): { offers: Offer[]; typed: number } {
  const typed = /"?[$\w.]*$/.exec(before)![0]
  const hasQuote = typed.startsWith('"')
  const write = (name: string) => (hasQuote ? `"${name}` : `"${name}": `)
  const paths = completion.paths.map(
    ({ path, types, share }): Offer => ({
      label: path.replaceAll('[]', ''),
      kind: 'property',
      detail: `${types.join(' or ')}  ${percent(share)}`,
      apply: write(path.replaceAll('[]', '')),
      boost: Math.round(share * 10),
    }),
  )
  const operators = (completion.operators ?? []).map(
    (label): Offer => ({ label, kind: 'keyword', apply: write(label) }),
  )
  const seen = new Set<string>()
  const offers = [...paths, ...operators].filter(({ label }) => !seen.has(label) && seen.add(label))
  return { offers, typed: typed.length }
}
