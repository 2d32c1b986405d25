import AdapterBlender from './adapter/blender.ts'
import AdapterPython from './adapter/python.ts'
import Login from './login.ts'
import Logout from './logout.ts'
import Password from './password.ts'
import Publish from './publish.ts'
import Register from './register.ts'
import Registry from './registry/index.ts'
import RegistryAudit from './registry/audit.ts'
import RegistryBackup from './registry/backup.ts'
import RegistryInvite from './registry/invite.ts'
import RegistryRestore from './registry/restore.ts'
import RegistrySessionsEnd from './registry/sessions/end.ts'
import RegistrySigningKeysList from './registry/signing-keys/list.ts'
import RegistrySigningKeysRotate from './registry/signing-keys/rotate.ts'
import RegistryTokensList from './registry/tokens/list.ts'
import RegistryTokensRevoke from './registry/tokens/revoke.ts'
import RegistryUsersDelete from './registry/users/delete.ts'
import RegistryUsersDisable from './registry/users/disable.ts'
import RegistryUsersEnable from './registry/users/enable.ts'
import RegistryUsersList from './registry/users/list.ts'
import RegistryUsersResetCode from './registry/users/reset-code.ts'
import RegistryUsersShow from './registry/users/show.ts'
import RegistryUsersUnlock from './registry/users/unlock.ts'
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
  password: Password,
  publish: Publish,
  register: Register,
  registry: Registry,
  'registry:audit': RegistryAudit,
  'registry:backup': RegistryBackup,
  'registry:invite': RegistryInvite,
  'registry:restore': RegistryRestore,
  'registry:sessions:end': RegistrySessionsEnd,
  'registry:signing-keys:list': RegistrySigningKeysList,
  'registry:signing-keys:rotate': RegistrySigningKeysRotate,
  'registry:tokens:list': RegistryTokensList,
  'registry:tokens:revoke': RegistryTokensRevoke,
  'registry:users:delete': RegistryUsersDelete,
  'registry:users:disable': RegistryUsersDisable,
  'registry:users:enable': RegistryUsersEnable,
  'registry:users:list': RegistryUsersList,
  'registry:users:reset-code': RegistryUsersResetCode,
  'registry:users:show': RegistryUsersShow,
  'registry:users:unlock': RegistryUsersUnlock,
  serve: Serve,
  'token:create': TokenCreate,
  'token:list': TokenList,
  'token:revoke': TokenRevoke,
  whoami: Whoami,
}
