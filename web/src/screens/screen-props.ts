/** The properties of a screen: the container as the tree shows it now, and the route. */

import type { Container } from '../api/shapes.ts'
import type { ContainerRoute } from '../navigation/routes.ts'

export interface ScreenProps {
  route: ContainerRoute
  container: Container
}
