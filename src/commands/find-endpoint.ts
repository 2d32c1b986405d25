import { join } from 'node:path'
import { isLoopback } from '../lib/util/net.ts'
import { type ServiceError, usage } from '../lib/util/errors.ts'
import { ownerFile, readOwnerToken } from '../lib/instances/files.ts'
import { liveInstances, localUrlOf } from '../lib/instances/live-instances.ts'
import type { Logger } from '../lib/util/logger.ts'
import { proxyFor } from '../lib/util/proxy.ts'
import { ok } from '../lib/util/result.ts'
import { Secret } from '../lib/util/secret.ts'
import { type Locate, shownUrl } from '../lib/mcp/bridge/context.ts'
import { findApiKey } from './auth-flags.ts'
import { readStateDirectory } from './path-flags.ts'
import { findGateway, gatewayWord, locateGateway, runningGateways } from './running-gateway.ts'
import { chooseInstance } from './stdio/choose-instance.ts'
import { locateInstance } from './stdio/locate-instance.ts'

/** The flags of every client command, as the parser returns them. */
export interface EndpointFlags {
  'api-key-file'?: string
  'allow-http': boolean
  'registry-dir'?: string
}

/** An MCP endpoint and its key. */
export interface Endpoint {
  readonly locate: Locate
  /** Facts for the log. */
  readonly found: { readonly aggregate?: boolean; readonly [fact: string]: unknown }
  readonly key: Secret | null
  /**
   * The owner's token of the server that was located last, for commands of the user when no key is
   * given; an AI client that the bridge acts for needs a key. Null: it has none.
   */
  readonly ownerToken: () => Secret | null
}

/**
 * Finds the endpoint by an address, the word `gateway` or an instance; without `word`, the only
 * running instance.
 * `naming` shows how to choose one of several. Throws `usage_invalid`, `config_invalid` or, when no
 * instance answers, `network_failed`.
 */
export async function findEndpoint(
  word: string | undefined,
  flags: EndpointFlags,
  env: NodeJS.ProcessEnv,
  { log, naming }: { log: Logger; naming: string },
): Promise<Endpoint> {
  const text = await findApiKey(flags['api-key-file'], env)
  const key = text === null ? null : new Secret(text)
  const registryDir = readStateDirectory(flags, env)
  const instancesDir = join(registryDir, 'instances')
  if (word !== undefined && /^https?:/i.test(word)) {
    const url = endpointUrl(word)
    if (key !== null && !flags['allow-http'] && isExposed(url)) throw exposed(url)
    // A proxy that cannot be used is an error of the command, not of each request.
    proxyFor(url, env)
    const locate: Locate = async () => {
      if (key !== null || !isLoopback(url.hostname)) return ok({ url })
      // It may be the address of an instance or a gateway of this account.
      const live = await liveInstances(registryDir, log)
      const instance = live.find(one => localUrlOf(one).href === url.href)
      if (instance !== undefined) {
        return ok({ url, ownerFile: ownerFile(instancesDir, instance.instance_id) })
      }
      const gateways = await runningGateways(registryDir)
      const gateway = gateways.find(one => new URL(one.url).href === url.href)
      return ok({ url, ownerFile: gateway?.ownerFile })
    }
    return { ...withOwnerToken(locate), found: { url: shownUrl(url) }, key }
  }
  if (word === '') throw usage('the name of the instance is empty', 'a variable may be unset')
  if (word === gatewayWord) {
    const { url, aggregate } = await findGateway(registryDir)
    return { ...withOwnerToken(locateGateway(registryDir)), found: { url, aggregate }, key }
  }
  const live = () => liveInstances(registryDir, log)
  const first = chooseInstance(await live(), word, naming)
  const { instance_id: instance, dcc_type, display_name: name } = first
  return {
    ...withOwnerToken(locateInstance(first, word, instancesDir, live)),
    found: { url: localUrlOf(first).href, instance, dcc_type, name },
    key,
  }
}

/** Reads the owner's token of each server that is located: every run has another one. */
function withOwnerToken(locate: Locate): Pick<Endpoint, 'locate' | 'ownerToken'> {
  let token: Secret | null = null
  return {
    async locate() {
      const target = await locate()
      token = null
      if (!target.ok) return target
      const { url, ownerFile } = target.value
      // Servers accept it from this machine alone.
      if (ownerFile !== undefined && isLoopback(url.hostname))
        token = await readOwnerToken(ownerFile)
      return target
    },
    ownerToken: () => token,
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

/** True when a key would cross a network in plain http. */
export function isExposed(address: string | URL): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol === 'http:' && !isLoopback(hostname)
}

function exposed(url: URL): ServiceError {
  return usage(
    `the API key would be sent unencrypted to ${url.host}`,
    'use https, omit the key (unset SERVICE_MCP_API_KEY), or pass --allow-http to accept this',
  )
}
