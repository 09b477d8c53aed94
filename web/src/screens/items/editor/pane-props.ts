/** The properties of an item's pane: the item, and the events that the list listens to. */

import type { Container, ContainerName, WholeItem } from '../../../api/shapes.ts'

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
