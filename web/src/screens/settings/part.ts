/** The properties of a part of the settings: the container, its settings, and a function for new ones. */

import type { Settings } from '../../api/container-shapes.ts'
import type { Container, ContainerName } from '../../api/shapes.ts'

export interface PartProps<S extends Settings = Settings> {
  name: ContainerName
  container: Container
  settings: S
  onSettings: (settings: Settings) => void
}
