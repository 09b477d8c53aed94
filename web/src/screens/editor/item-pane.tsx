/** The pane of the item that is open: why and when it dies, its text, and what can be done with it. */

import type { Container, ContainerName, WholeItem } from '../../api/shapes.ts'
import { NewItemPane } from './new-item-pane.tsx'
import { StoredItemPane } from './stored-item-pane.tsx'

export interface ItemPaneProps {
  name: ContainerName
  container: Container
  /** `new` for one that is not stored yet. */
  itemKey: string
  isWide: boolean
  onClose: () => void
  onWide: (isWide: boolean) => void
  onSaved: (item: WholeItem) => void
  onGone: (key: string) => void
  /** The row that waits for the answer to a new life. */
  onPending: (key: string | undefined) => void
}

export function ItemPane(props: ItemPaneProps) {
  return props.itemKey === 'new' ? <NewItemPane {...props} /> : <StoredItemPane {...props} />
}
