import { networkInterfaces } from 'node:os'
import { isLoopback, withoutBrackets } from '../lib/util/net.ts'
import { ServiceError, usage } from '../lib/util/errors.ts'
import type { Logger } from '../lib/util/logger.ts'
import type { HostTarget } from '../lib/mcp/client/host-request.ts'
import { Secret } from '../lib/util/secret.ts'
import { parseSecret, readSecretFile } from '../lib/auth/secret-file.ts'
import type { ClientFlags } from './resources/client.ts'
import { readStateDirectory } from './path-flags.ts'
import { liveInstances } from '../lib/instances/live-instances.ts'
import { chooseInstance } from './choose-instance.ts'

/** The flags of a command that sends something over the host link of a running instance. */
export type HostFlags = Pick<
  ClientFlags,
  'instance' | 'dcc-type' | 'registry-dir' | 'json' | 'quiet'
>

/**
 * Finds the host link of a server on this machine and its token: `SERVICE_HOST_URL` with
 * `SERVICE_HOST_TOKEN` unless an instance is named, else by the instance records. Throws
 * `usage_invalid`, `config_invalid` or, when no instance answers, `network_failed`.
 */
export async function findHost(flags: HostFlags, log: Logger): Promise<HostTarget> {
  const { env } = process
  const { instance, 'dcc-type': dccType } = flags
  const { SERVICE_HOST_URL: hostUrl, SERVICE_HOST_TOKEN: hostToken } = env
  const word = instance ?? dccType
  if (word === undefined && hostUrl && hostToken) {
    return foundAt(hostUrl, hostToken, 'SERVICE_HOST_URL')
  }
  const registryDir = readStateDirectory(flags, env)
  const live = await liveInstances(registryDir, log)
  const { host_url: url, host_token_file: file } = chooseInstance(live, word, '--instance ID')
  const token = file === null ? hostToken : await readSecretFile(file, 'host_token_file')
  if (token) return foundAt(url, token, 'its record')
  throw new ServiceError('auth_required', 'the host token of the instance is not in a file', {
    hint: 'set SERVICE_HOST_TOKEN to the token of the server',
  })
}

function foundAt(hostUrl: string, token: string, source: string): HostTarget {
  const url = URL.parse(hostUrl.replace(/^ws:/, 'http:'))
  if (url?.protocol === 'http:' && url.username + url.password === '' && isOwnHost(url)) {
    return { url, token: new Secret(parseSecret(token, 'the host token')) }
  }
  throw usage(
    `the host url of ${source} is not on this machine`,
    'example: http://127.0.0.1:8765/host',
  )
}

function isOwnHost({ hostname }: URL): boolean {
  const own = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  const host = withoutBrackets(hostname)
  return isLoopback(host) || own.some(({ address }) => address === host)
}
