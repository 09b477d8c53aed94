/**
 * The collections that a command sees: those of the catalog, and in a transaction also those that it will
 * create.
 */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument } from '../answers/fields.ts'
import {
  type CatalogReader,
  type Collection,
  type CollectionDraft,
  collectionOf,
  findCollection,
  findOrCreateCollection,
  systemNamespace,
} from '../collections/collections.ts'
import { planned } from '../collections/planned-collection.ts'
import { isSystemCollection, nameOf } from '../requests/namespace.ts'
import type { Transaction } from '../session/transaction.ts'
import { writeConflict } from '../session/write-intents.ts'
import type { CommandCall } from './command.ts'

export function catalogOf({ isInTransaction, service, session }: CommandCall): CatalogReader {
  return isInTransaction ? transactionCatalog(service.engine, session!.transaction!) : service.engine
}

function transactionCatalog({ catalog }: CatalogReader, transaction: Transaction): CatalogReader {
  return {
    catalog: {
      findContainer: (database, collection) => {
        const name = nameOf({ database, collection })
        const plan = transaction.planned.get(name)
        if (plan !== undefined) return plan.container
        return andThen(catalog.findContainer(database, collection), found => {
          if (transaction.overlays.some(({ collection: used }) => isReplaced(used, name, found?.number))) {
            throw new CommandError(
              'SnapshotUnavailable',
              `Unable to read from a snapshot due to pending collection catalog changes to collection '${name}'; ` +
                'please retry the operation.',
            )
          }
          return found
        })
      },
      findDatabase: id => catalog.findDatabase(id),
      containers: database => catalog.containers(database),
    },
  }
}

/** Whether the collection that the transaction has used is gone, or another one has its name. */
function isReplaced({ name, container }: Collection, asked: string, present: number | undefined): boolean {
  return name === asked && container.number !== present
}

/** The first write to a collection creates it, in a transaction with the commit. */
export function findOrCreateCallCollection(call: CommandCall, namespace: Namespace): MaybePromise<Collection> {
  if (!call.isInTransaction) return findOrCreateCollection(call.service.engine, namespace)
  return andThen(
    findCollection(catalogOf(call), namespace),
    found => found ?? planCollection(call, namespace, { options: emptyDocument }),
  )
}

export function planCollection(call: CommandCall, namespace: Namespace, draft: CollectionDraft): Collection {
  if (isSystemCollection(namespace.collection)) throw systemNamespace(namespace)
  const transaction = call.session!.transaction!
  const name = nameOf(namespace)
  // Another open transaction may be about to create it.
  if (!call.service.intents.take(transaction, 0, { epk: '', pk: '', id: name })) throw writeConflict()
  const plan = planned(namespace, draft)
  transaction.planned.set(name, plan)
  return collectionOf(plan.container)
}
