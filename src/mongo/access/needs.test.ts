/** What commands need where it depends on their fields, or on what the user may do. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Document, serialize } from 'bson'
import { Arguments } from '../requests/arguments.ts'
import { needs } from './needs.ts'
import type { Action, Resource } from './privilege.ts'
import { Rights } from './rights.ts'

/** Everything but some actions, as no built-in role allows it. */
class Allowed extends Rights {
  readonly #refused: readonly string[]

  constructor(...refused: readonly string[]) {
    super([])
    this.#refused = refused
  }

  /** Refused: an action everywhere, or `action collection`. */
  override allows(action: Action, resource: Resource): boolean {
    const collection = 'db' in resource ? resource.collection : ''
    return !this.#refused.some(each => each === action || each === `${action} ${collection}`)
  }
}

function neededFor(command: Document, rights: Rights, sequence?: readonly Document[]): string[] {
  const args = new Arguments(serialize(command))
  const sequences =
    sequence === undefined
      ? []
      : [{ name: 'updates', documents: Buffer.concat(sequence.map(each => Buffer.from(serialize(each)))) }]
  const user = { user: 'ann', db: 'shop' }
  const asked = { args, sequences, database: 'shop', user, roles: [], rights }
  return needs[args.name]!(asked).flatMap(({ resource, actions }) =>
    actions.map(action => `${action} ${'db' in resource ? `${resource.db}.${resource.collection}` : 'cluster'}`),
  )
}

const updating = ['find shop.c', 'update shop.c']

test('an upsert needs the right to insert, in the body and in a document sequence', () => {
  const rights = new Allowed('insert')
  const [plain, upsert] = [
    { q: {}, u: {} },
    { q: {}, u: {}, upsert: true },
  ]
  assert.deepEqual(neededFor({ update: 'c', updates: [plain] }, rights), updating)
  assert.deepEqual(neededFor({ update: 'c', updates: [plain, upsert] }, rights), [...updating, 'insert shop.c'])
  assert.deepEqual(neededFor({ update: 'c' }, rights, [plain]), updating)
  assert.deepEqual(neededFor({ update: 'c' }, rights, [plain, upsert]), [...updating, 'insert shop.c'])
})

test('a findAndModify needs what it may do', () => {
  const rights = new Allowed()
  const need = (options: Document) => neededFor({ findAndModify: 'c', ...options }, rights)
  assert.deepEqual(need({ update: {} }), updating)
  assert.deepEqual(need({ update: {}, upsert: true }), [...updating, 'insert shop.c'])
  assert.deepEqual(need({ remove: true }), ['find shop.c', 'remove shop.c'])
})

test('who passes by validation needs a right of its own', () => {
  const insert = { insert: 'c', documents: [], bypassDocumentValidation: true }
  assert.deepEqual(neededFor(insert, new Allowed()), ['insert shop.c', 'bypassDocumentValidation shop.c'])
  const copy = { aggregate: 'c', pipeline: [{ $merge: 'd' }], cursor: {}, bypassDocumentValidation: true }
  assert.ok(neededFor(copy, new Allowed()).includes('bypassDocumentValidation shop.d'))
})

test('who may insert may create; a view shows no more than its creator may read', () => {
  assert.deepEqual(neededFor({ create: 'c' }, new Allowed()), [])
  assert.deepEqual(neededFor({ create: 'c' }, new Allowed('createCollection')), ['insert shop.c'])
  const view = { create: 'v', viewOn: 'c', pipeline: [{ $lookup: { from: 'd', pipeline: [], as: 'x' } }] }
  const needed = neededFor(view, new Allowed())
  for (const each of ['createCollection shop.v', 'find shop.c', 'find shop.d']) assert.ok(needed.includes(each), each)
  assert.deepEqual(neededFor(view, new Allowed('find')), ['createCollection shop.v'])
})

test('nobody gets to see a collection by renaming it', () => {
  const rename = { renameCollection: 'shop.a', to: 'shop.b', dropTarget: true }
  const dropping = 'dropCollection shop.b'
  assert.deepEqual(neededFor(rename, new Allowed()), ['renameCollectionSameDB shop.a', dropping])
  assert.deepEqual(neededFor(rename, new Allowed('find a')), ['find shop.a', dropping])
  assert.deepEqual(neededFor({ renameCollection: 'shop.a', to: 'x.b' }, new Allowed()), [
    'find shop.a',
    'dropCollection shop.a',
    'insert x.b',
    'createIndex x.b',
  ])
})
