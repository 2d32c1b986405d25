import { tmpdir, userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { ownUid } from './posix.ts'

/** Option, else `SERVICE_REGISTRY_DIR`, else a folder of this user below the temporary one. */
export function selectStateDirectory(option: string | undefined, env: NodeJS.ProcessEnv): string {
  const chosen = option || env.SERVICE_REGISTRY_DIR
  return chosen ? resolve(chosen) : join(tmpdir(), `service-cli-${ownName()}`)
}

/** The uid, or where there is none the user name, without what a file name cannot hold. */
function ownName(): string {
  const uid = ownUid()
  return uid === null ? userInfo().username.replaceAll(/[^\w.-]/g, '_') : String(uid)
}
