/** Every command and every stage says which privileges it needs, and roles grant what is needed. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sourceStages, stages, unsupportedStages } from '../mql/stages/table.ts'
import { findRole, privilegesOf, rolesOf } from './access/built-in-roles.ts'
import { needs } from './access/needs.ts'
import { stageNeeds } from './access/pipeline-needs.ts'
import { covers } from './access/privilege.ts'
import { Rights } from './access/rights.ts'
import { commandFamilies } from './commands.ts'
import type { Command } from './service/command.ts'

test('each command that needs a login is in the table of needs, and nothing else is', () => {
  const commands: readonly Command[] = Object.values(commandFamilies).flat()
  const isAsked = ({ isPublic, isRefused }: Command) => isPublic !== true && isRefused !== true
  const asked = commands.filter(isAsked).map(({ name }) => name)
  assert.deepEqual(Object.keys(needs).sort(), asked.sort())
})

test('each stage is in the table of needs, and nothing else is', () => {
  const supported = [...Object.keys(stages), ...sourceStages]
  assert.deepEqual(
    supported.filter(name => !Object.hasOwn(stageNeeds, name)),
    [],
  )
  const known = [...supported, ...Object.keys(unsupportedStages)]
  assert.deepEqual(
    Object.keys(stageNeeds).filter(name => !known.includes(name)),
    [],
  )
})

test('root may do what any other role may', () => {
  const root = new Rights([{ role: 'root', db: 'admin' }])
  for (const db of ['admin', 'shop']) {
    for (const name of rolesOf(db)) assert.ok(root.allowsAll(privilegesOf([name])), name.role)
  }
})

test('roles over all databases exist in admin only', () => {
  assert.ok(findRole({ role: 'root', db: 'admin' }))
  assert.equal(findRole({ role: 'root', db: 'shop' }), undefined)
  assert.ok(findRole({ role: 'read', db: 'shop' }))
  assert.equal(findRole({ role: 'constructor', db: 'admin' }), undefined)
})

test('a database covers its collections but system collections; all databases leave out local and config', () => {
  const shop = { db: 'shop', collection: '' }
  assert.ok(covers(shop, { db: 'shop', collection: 'carts' }))
  assert.ok(!covers(shop, { db: 'shop', collection: 'system.js' }))
  assert.ok(!covers(shop, { db: 'other', collection: 'carts' }))
  const all = { db: '', collection: '' }
  assert.ok(covers(all, { db: 'shop', collection: 'carts' }))
  assert.ok(covers(all, all))
  assert.ok(!covers(shop, all))
  for (const db of ['local', 'config']) assert.ok(!covers(all, { db, collection: 'x' }))
  assert.ok(!covers(all, { cluster: true }))
  assert.ok(!covers({ cluster: true }, all))
})
