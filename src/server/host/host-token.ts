import { randomBytes } from 'node:crypto'
import { writePrivateFile } from '../../lib/config/private-file.ts'
import { instanceFile } from '../../lib/instances/state-directory.ts'
import { readSecretFile } from '../../lib/auth/secret-file.ts'
import { Secret } from '../../lib/util/secret.ts'

interface HostTokenSource {
  /** `--host-token-file` */
  readonly file?: string
  /** Value of `SERVICE_HOST_TOKEN`, checked; empty counts as absent. */
  readonly env?: string
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  readonly instanceId: string
}

/**
 * The token that the application must present: from the file, else the environment, else made
 * for this run and written beside the instance record. `file`: where an adapter can read it; null
 * when it came from the environment. Throws `config_invalid` for a file that others can read or
 * without a token, `storage_failed` or `storage_full` when it cannot be written.
 */
export async function resolveHostToken(source: HostTokenSource) {
  if (source.file) {
    const text = await readSecretFile(source.file, '--host-token-file')
    return { secret: new Secret(text), file: source.file }
  }
  if (source.env) return { secret: new Secret(source.env), file: null }
  const file = instanceFile(source.instancesDir, source.instanceId, 'token')
  const secret = new Secret(randomBytes(32).toString('base64url'))
  await writePrivateFile(file, secret.reveal())
  return { secret, file }
}
