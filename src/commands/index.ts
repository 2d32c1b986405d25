import Registry from './registry/index.ts'
import Serve from './serve.ts'

/** Every command of the program, by name. */
export const COMMANDS = {
  registry: Registry,
  serve: Serve,
}
