/** collMod: changes the options of a collection, above all when its documents expire. */

import { equalValues } from '../../document/bson/compare.ts'
import { BsonDocument, bool, type Field } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import { changeOptions } from '../collections/collection-options.ts'
import { type Collection, type CollectionIndex, requireEntry } from '../collections/collections.ts'
import { readValidationOptions, withDefaults } from '../collections/validation.ts'
import { checkedExpireAfterSeconds, withOptions } from '../index-specs/index-spec.ts'
import { changeIndexes } from '../indexes/index-changes.ts'
import type { Arguments } from '../requests/arguments.ts'
import { namespaceOf } from '../requests/namespace.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { constantsOf } from '../service/query-language.ts'
import { changeView } from './views.ts'

const indexFields: ReadonlySet<string> = new Set([
  'name',
  'keyPattern',
  'expireAfterSeconds',
  'hidden',
  'unique',
  'prepareUnique',
])

async function collMod(call: CommandCall): Promise<Fields> {
  const { service, args } = call
  const collection = await requireEntry(service.engine, namespaceOf(call))
  const given = collModFields.filter(name => args.present(name) !== undefined)
  if (collection.isView) {
    await changeView(call, collection, given)
    return {}
  }
  const viewOption = given.find(name => name === 'viewOn' || name === 'pipeline')
  if (viewOption !== undefined) {
    throw new CommandError('InvalidOptions', `option only supported on a view: ${viewOption}`)
  }
  for (const name of ['timeseries', 'cappedSize', 'cappedMax', 'expireAfterSeconds']) {
    if (args.present(name) !== undefined) {
      throw new CommandError('NotImplemented', `The option '${name}' of collMod is not supported.`)
    }
  }
  const images = args.within('changeStreamPreAndPostImages')
  const changed = readValidationOptions(args, namespaceOf(call), () => constantsOf(call, collection.collation))
  // A change of nothing is an event as well.
  if (images !== undefined || changed.length > 0 || given.length === 0) {
    await changeOptions(service.engine, collection, present => [
      ...withDefaults(changed, present),
      ...(images === undefined ? [] : [preImagesOption(images.flag('enabled'))]),
    ])
  }
  const index = args.within('index')
  return index === undefined ? {} : modifyIndex(call, collection, index)
}

function preImagesOption(isEnabled: boolean): Field {
  return ['changeStreamPreAndPostImages', BsonDocument.of([['enabled', bool(isEnabled)]])]
}

async function modifyIndex(call: CommandCall, collection: Collection, args: Arguments): Promise<Fields> {
  args.refuseUnknown(indexFields)
  const { engine, settings } = call.service
  const found = namedIndex(collection, args)
  const given = args.present('expireAfterSeconds')
  const isHidden = args.boolean('hidden')
  if (args.flag('unique') || args.flag('prepareUnique')) {
    throw new CommandError('NotImplemented', 'An index is made unique by creating it so.')
  }
  if (given === undefined && isHidden === undefined) {
    throw new CommandError('InvalidOptions', 'no expireAfterSeconds, hidden, unique, or prepareUnique field')
  }
  const expireAfterSeconds = given === undefined ? undefined : expiryFor(found, given)
  await changeIndexes(engine, collection, settings, present =>
    present.map(index => ({
      spec:
        index.name === found.name
          ? withOptions(index, {
              ...(expireAfterSeconds !== undefined && { expireAfterSeconds }),
              ...(isHidden !== undefined && { isHidden }),
            })
          : index,
      number: index.number,
    })),
  )
  return {
    ...(expireAfterSeconds !== undefined && {
      expireAfterSeconds_old: found.expireAfterSeconds === undefined ? undefined : BigInt(found.expireAfterSeconds),
      expireAfterSeconds_new: BigInt(expireAfterSeconds),
    }),
    ...(isHidden !== undefined && { hidden_old: found.isHidden, hidden_new: isHidden }),
  }
}

function expiryFor(index: CollectionIndex, given: NonNullable<ReturnType<Arguments['value']>>): number {
  const [first, second] = index.parts
  if (second !== undefined || first!.path === '_id' || index.kind !== 'ordered') {
    throw new CommandError(
      'InvalidOptions',
      'TTL indexes are single-field indexes, compound indexes and the _id index do not support TTL.',
    )
  }
  return checkedExpireAfterSeconds(given, first!.path, 'InvalidOptions')
}

function namedIndex({ indexes, name: namespace }: Collection, args: Arguments): CollectionIndex {
  const name = args.string('name')
  const pattern = args.document('keyPattern')
  if ((name === undefined) === (pattern === undefined)) {
    throw new CommandError('InvalidOptions', 'must specify either index name or key pattern, and not both')
  }
  const found = indexes.filter(index => (pattern === undefined ? index.name === name : equalValues(index.key, pattern)))
  if (found.length === 1) return found[0]!
  if (found.length > 1) throw new CommandError('AmbiguousIndexKeyPattern', 'several indexes have this key pattern')
  throw new CommandError('IndexNotFound', `cannot find index ${name ?? 'with this key pattern'} for ns ${namespace}`)
}

const collModFields = [
  'index',
  'validator',
  'validationLevel',
  'validationAction',
  'viewOn',
  'pipeline',
  'timeseries',
  'cappedSize',
  'cappedMax',
  'expireAfterSeconds',
  'changeStreamPreAndPostImages',
  'dryRun',
]

export const collModCommands: readonly Command[] = [{ name: 'collMod', fields: collModFields, run: collMod }]
