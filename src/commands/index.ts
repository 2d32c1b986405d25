import AdapterBlender from './adapter/blender.ts'
import AdapterPython from './adapter/python.ts'
import Login from './login.ts'
import Logout from './logout.ts'
import Publish from './publish.ts'
import Register from './register.ts'
import Registry from './registry/index.ts'
import Serve from './serve.ts'
import TokenCreate from './token/create.ts'
import TokenList from './token/list.ts'
import TokenRevoke from './token/revoke.ts'
import Whoami from './whoami.ts'

/** Every command of the program, by name. */
export const COMMANDS = {
  'adapter:blender': AdapterBlender,
  'adapter:python': AdapterPython,
  login: Login,
  logout: Logout,
  publish: Publish,
  register: Register,
  registry: Registry,
  serve: Serve,
  'token:create': TokenCreate,
  'token:list': TokenList,
  'token:revoke': TokenRevoke,
  whoami: Whoami,
}
