import Serve from './serve.ts'

/** Every command of the program, by name. */
export const COMMANDS = {
  serve: Serve,
}
