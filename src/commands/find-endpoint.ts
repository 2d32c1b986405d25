import type { Interfaces } from '@oclif/core'
import { join } from 'node:path'
import { instanceFile } from '../lib/instances/state-directory.ts'
import { findNextRun, liveInstances, localUrlOf } from '../lib/instances/live-instances.ts'
import type { InstanceRecord } from '../lib/instances/record.ts'
import { selectInstances } from '../lib/instances/select-instance.ts'
import type { Locate } from '../lib/mcp/bridge/connection.ts'
import { messageOf, usage } from '../lib/util/errors.ts'
import type { Logger } from '../lib/util/logger.ts'
import { isExposed, isLoopback, shownUrl } from '../lib/util/net.ts'
import { proxyFor } from '../lib/util/proxy.ts'
import { fail, ok } from '../lib/util/result.ts'
import { Secret } from '../lib/util/secret.ts'
import { findApiKey } from './auth-flags.ts'
import { findGateway, gatewayWord, ownServers } from './own-servers.ts'
import { readStateDirectory } from './path-flags.ts'
import type { accessFlags } from './endpoint-flags.ts'
import { chooseInstance } from './choose-instance.ts'

/** The flags of every client command, as the parser returns them. */
export type EndpointFlags = Partial<Interfaces.InferredFlags<typeof accessFlags>>

/**
 * Finds the endpoint by an address, the word `gateway` or an instance; without `word`, the only
 * running instance. `naming` shows how to choose one of several; `found` has facts for the log. Throws
 * `usage_invalid`, `config_invalid` or, when no instance answers, `network_failed`.
 */
export async function findEndpoint(
  word: string | undefined,
  flags: EndpointFlags,
  env: NodeJS.ProcessEnv,
  { log, naming }: { log: Logger; naming: string },
): Promise<{ locate: Locate; key: Secret | null; found: { url: string; aggregate?: boolean } }> {
  const text = await findApiKey(flags['api-key-file'], env)
  const key = text === null ? null : new Secret(text)
  const registryDir = readStateDirectory(flags, env)
  if (word === '') throw usage('the name of the instance is empty', 'a variable may be unset')
  if (word !== undefined && /^https?:/i.test(word)) {
    const url = endpointUrl(word)
    if (key !== null && !flags['allow-http'] && isExposed(url)) {
      throw usage(
        `the API key would be sent unencrypted to ${url.host}`,
        'use https, omit the key (unset SERVICE_MCP_API_KEY), or pass --allow-http to accept this',
      )
    }
    // A proxy that cannot be used is an error of the command, not of each request.
    proxyFor(url, env)
    const locate: Locate = async () => {
      // It may be the address of a server of this account.
      const isLocal = key === null && isLoopback(url.hostname)
      const own = isLocal ? await ownServers(registryDir, log) : []
      return ok({ url, ownerFile: own.find(server => server.url === url.href)?.ownerFile })
    }
    return { locate, key, found: { url: shownUrl(url) } }
  }
  if (word === gatewayWord) {
    const { url, aggregate } = await findGateway(registryDir)
    const locate: Locate = () =>
      findGateway(registryDir).then(
        gateway => ok({ url: new URL(gateway.url), ownerFile: gateway.ownerFile }),
        error => fail(messageOf(error)),
      )
    return { locate, key, found: { url, aggregate } }
  }
  const live = () => liveInstances(registryDir, log)
  const first = chooseInstance(await live(), word, naming)
  const locate = locateInstance(first, word, join(registryDir, 'instances'), live)
  const { instance_id: instance, dcc_type, display_name: name } = first
  const found = { url: localUrlOf(first).href, instance, dcc_type, name }
  return { locate, key, found }
}

/**
 * Locates the chosen instance, and after a loss its next run. Unless the user named that instance
 * by id, another instance that matches `word` also counts. `instancesDir` has the owner's tokens.
 */
export function locateInstance(
  first: InstanceRecord,
  word: string | undefined,
  instancesDir: string,
  live: () => Promise<InstanceRecord[]>,
): Locate {
  const particular = word !== undefined && word !== first.dcc_type
  let current = first
  let lostMs: number | null = null
  return async () => {
    const instances = await live()
    const missedMs = lostMs ?? Date.now()
    const [chosen, ...others] = selectInstances(instances, word)
    const other = !particular && others.length === 0 ? chosen : null
    const next = findNextRun(instances, current, missedMs) ?? other ?? null
    lostMs = next === null ? missedMs : null
    if (next === null) {
      return fail(`the instance ${current.display_name} does not run or does not answer`)
    }
    current = next
    return ok({
      url: localUrlOf(next),
      ownerFile: instanceFile(instancesDir, next.instance_id, 'owner'),
    })
  }
}

/** The address of an endpoint as the user wrote it. Throws `usage_invalid`. */
export function endpointUrl(word: string): URL {
  const url = URL.parse(word)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usage(`${word} is not an http or https URL`, 'example: http://127.0.0.1:8765/mcp')
  }
  if (url.username + url.password + url.hash !== '') {
    throw usage('the address must not contain a user name, password or #', 'keys: --api-key-file')
  }
  return url
}
