/** The pane of the item that is open: a new one, or one that is stored. */

import { NewItemPane } from './new-item-pane.tsx'
import type { ItemPaneProps } from './pane-props.ts'
import { StoredItemPane } from './stored-item-pane.tsx'

export function ItemPane(props: ItemPaneProps) {
  return props.itemKey === 'new' ? <NewItemPane {...props} /> : <StoredItemPane {...props} />
}
