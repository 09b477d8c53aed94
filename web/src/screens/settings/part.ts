/** What a part of the settings gets: the container, its settings, and where new ones go. */

import type { Settings } from '../../api/container-shapes.ts'
import type { Container, ContainerName } from '../../api/shapes.ts'

export interface PartProps<S extends Settings = Settings> {
  name: ContainerName
  container: Container
  settings: S
  onSettings: (settings: Settings) => void
}
