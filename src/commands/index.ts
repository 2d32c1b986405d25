import AdapterBlender from './adapter/blender.ts'
import AdapterPython from './adapter/python.ts'
import Serve from './serve.ts'

/** Every command of the program, by name. */
export const COMMANDS = {
  'adapter:blender': AdapterBlender,
  'adapter:python': AdapterPython,
  serve: Serve,
}
