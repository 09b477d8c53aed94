// A Mayfly in a container, for those who use Testcontainers. Build its image from the Dockerfile of Mayfly.
import { GenericContainer, Wait } from 'testcontainers'

const key = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=='

export async function startMayfly(image = 'mayfly') {
  const container = await new GenericContainer(image)
    .withEnvironment({ MAYFLY_CLOCK: 'manual' })
    .withExposedPorts(8081, 10255)
    .withWaitStrategy(Wait.forHttp('/ready', 8081))
    .start()
  const host = container.getHost()
  const password = encodeURIComponent(key)
  return {
    endpoint: `http://${host}:${container.getMappedPort(8081)}`,
    key,
    mongoUri: `mongodb://localhost:${password}@${host}:${container.getMappedPort(10255)}/?directConnection=true`,
    stop: () => container.stop(),
  }
}
