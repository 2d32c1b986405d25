import type { Interfaces } from '@oclif/core'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { keyVariable } from '../lib/auth/api-key-config.ts'
import { quoteArgument } from '../lib/cli/format.ts'
import { type Output, processOutput, warningsTo } from '../lib/cli/output.ts'
import { homeFolder } from '../lib/config/paths.ts'
import { storageError } from '../lib/config/private-file.ts'
import { liveInstances, localUrlOf } from '../lib/instances/live-instances.ts'
import { selectInstances } from '../lib/instances/select-instance.ts'
import { entryName } from '../lib/mcp/entry-name.ts'
import { type Client, clients, scopes } from '../lib/mcp/settings/clients.ts'
import { makeEntry, newSettings } from '../lib/mcp/settings/entry.ts'
import { findSettings, whySwitchedOff, writeEntry } from '../lib/mcp/settings/settings-file.ts'
import { usage } from '../lib/util/errors.ts'
import { isExposed, isLoopback } from '../lib/util/net.ts'
import { userAgent } from '../lib/util/version.ts'
import { defaultPorts } from './default-ports.ts'
import { endpointUrl } from './find-endpoint.ts'
import { readStateDirectory } from './path-flags.ts'
import { instanceFlags } from './endpoint-flags.ts'
import { findGateway, gatewayWord, rootsOnly } from './own-servers.ts'
import { chooseInstance } from './choose-instance.ts'

const ids = clients.map(({ id }) => id).join(', ')

export default class McpConfig extends BaseCommand {
  static override summary = 'Connect an AI client to a running server'
  static override description = `Prints the entry for the settings of the client to stdout, and the \
name of the file to stderr. With --write it merges the entry into that file: everything else stays \
unchanged, a backup is kept beside it, and a second run changes nothing.

Without --url, --instance, --dcc-type or --gateway the entry is for the only running server. The API \
key is never written: the entry refers to SERVICE_MCP_API_KEY where the client supports variables. \
docs/clients.md lists the tested clients.`
  static override usage = 'mcp-config CLIENT [FLAGS]'
  static override examples = [
    '<%= config.bin %> mcp-config cursor',
    '<%= config.bin %> mcp-config claude-code --write',
    '<%= config.bin %> mcp-config vscode --scope project --write',
    '<%= config.bin %> mcp-config claude-code --gateway --write',
  ]

  static override args = {
    client: Args.string({
      description: `the AI client: ${ids}`,
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = {
    url: Flags.string({
      description: 'MCP endpoint of the entry',
      helpValue: 'URL',
      exclusive: ['instance', 'dcc-type', 'gateway'],
    }),
    gateway: Flags.boolean({
      description: 'the running gateway: with --aggregate one entry for every instance',
      exclusive: ['instance', 'dcc-type'],
    }),
    ...instanceFlags,
    name: Flags.string({
      description: 'name of the entry [default: the kind of application]',
      helpValue: 'NAME',
    }),
    scope: Flags.option({ options: scopes })({
      description: 'for all your projects, or for the working folder',
      default: 'user',
    }),
    stdio: Flags.boolean({
      description: 'let the client start `service-cli connect` instead of using HTTP',
    }),
    write: Flags.boolean({ description: 'merge the entry into the settings file of the client' }),
    force: Flags.boolean({ char: 'f', description: 'replace an entry of that name that differs' }),
    auth: Flags.option({ options: ['none', 'api-key'] as const })({
      description: 'whether the server requires a key [default: detected]',
    }),
    'api-key-file': Flags.string({
      description: 'file with the key, for a client that starts service-cli',
      helpValue: 'FILE',
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(McpConfig)
    const client = clients.find(({ id }) => id === args.client)
    if (client === undefined) {
      throw usage(`unknown client "${args.client}"`, `known clients: ${ids}`)
    }
    await configure(client, flags, processOutput(flags))
  }
}

type McpConfigFlags = Interfaces.InferredFlags<typeof McpConfig.flags> & { json: boolean }

async function configure(client: Client, flags: McpConfigFlags, output: Output): Promise<void> {
  const { env, platform } = process
  const { scope } = flags
  const { id, title, format, section } = client
  if (scope === 'project' && client.project === undefined) {
    throw usage(`${title} has no settings of a project`, 'omit --scope')
  }
  const file = findSettings(client, scope, { platform, env, home: homeFolder() })
  const server = await findServer(client, flags, output)
  const made = makeEntry(client, { ...server, scope })
  const snippet = newSettings(client, made)
  const own = made.own?.map(word => quoteArgument(word, platform)).join(' ')
  const { name, url, keyed, bridge } = server
  const facts = {
    client: id,
    scope,
    file,
    format,
    name,
    url,
    transport: bridge === null ? 'http' : 'stdio',
    auth: keyed ? 'api-key' : 'none',
    section,
    entry: made.entry,
    input: made.input ?? undefined,
    snippet,
    commands: own === undefined ? [] : [own],
    notes: made.notes,
  }
  const isWritable = file !== null && format.startsWith('json')
  if (flags.write) {
    if (!isWritable) {
      const hint = own === undefined ? 'omit --write, and paste the printed entry' : `run: ${own}`
      const why = file === null ? `have no known place on ${platform}` : `are not JSON: ${file}`
      throw usage(`--write cannot add the entry: the settings of ${title} ${why}`, hint)
    }
    const { change, backup } = await writeEntry(file, client, made, flags).catch(error => {
      const failure = storageError(file, error)
      if (failure.code !== 'entry_exists') output.note(`The entry to paste:\n${snippet.trimEnd()}`)
      throw failure
    })
    const done =
      change === 'unchanged'
        ? `unchanged: ${file} already has the entry ${name}`
        : `${change} the entry ${name} in ${file}`
    const copy = backup === null ? '' : `\nbackup of the old file: ${backup}`
    await output.result(`${done}${copy}`, { ...facts, change, backup })
  } else {
    const where = file === null ? '' : ` in ${file}${isWritable ? ' (--write adds it)' : ''}`
    output.note(`For ${title}${where}:`)
    await output.result(snippet.trimEnd(), facts)
    if (own !== undefined) output.note(`Or: ${own}`)
  }
  const why = file === null ? null : await whySwitchedOff(client, file, name)
  if (why !== null) output.warn(`${title} does not use the entry ${name}: ${why} in ${file}`)
  for (const note of made.notes) output.note(note)
}

/** Throws `usage_invalid` for flags that do not fit together, or the client. */
async function findServer(client: Client, flags: McpConfigFlags, output: Output) {
  const { auth, 'api-key-file': keyFile } = flags
  if (flags.name !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(flags.name)) {
    throw usage('--name must be 1 to 64 letters, digits, - and _', 'example: blender')
  }
  const isBridged = flags.stdio || client.http === undefined
  if (keyFile !== undefined && !isBridged) {
    const hint = `over HTTP the client itself holds the key, in ${keyVariable}`
    throw usage('--api-key-file is for --stdio', hint)
  }
  const { url, kind, words } = await findTarget(flags, client.http === undefined, output)
  const name = flags.name ?? (flags.gateway ? 'service-gateway' : entryName(kind))
  const keyed =
    keyFile === undefined && (auth === undefined ? await asksForKey(url) : auth === 'api-key')
  if (keyed && client.key === undefined) {
    throw usage(
      `settings of ${client.title} cannot refer to the key that the server requires`,
      `add ${isBridged ? '' : '--stdio '}--api-key-file FILE`,
    )
  }
  if ((keyed || keyFile !== undefined) && isExposed(url)) {
    const more = '; service-cli connect sends it only with --allow-http among its arguments'
    const open = `the key goes unencrypted to ${new URL(url).host}: use https where you can`
    output.warn(`${open}${isBridged ? more : ''}`)
  }
  const bridge = [
    // Desktop programs are started with hardly a PATH, so both are named by their place.
    process.execPath,
    fileURLToPath(new URL('../../bin/run.js', import.meta.url)),
    ...words,
    ...(keyFile === undefined ? [] : ['--api-key-file', resolve(keyFile)]),
  ]
  return { name, url, keyed, bridge: isBridged ? bridge : null }
}

/**
 * The server of the entry: `kind` of its application, `words` with which service-cli is started by the
 * client. `serves`: a client that shows an error when nothing runs gets `serve --stdio`.
 */
async function findTarget(
  flags: McpConfigFlags,
  serves: boolean,
  output: Output,
): Promise<{ url: string; kind?: string; words: string[] }> {
  const { 'dcc-type': dccType, instance: word = dccType } = flags
  if (flags.url !== undefined) {
    const url = endpointUrl(flags.url).href
    return { url, words: ['connect', url] }
  }
  if (word === '') throw usage('the name of the instance is empty', 'a variable may be unset')
  const registryDir = readStateDirectory(flags, process.env)
  // Clients pass on hardly a variable, also of those that move the default.
  const place = ['--registry-dir', registryDir]
  if (flags.gateway) {
    const { url, aggregate } = await findGateway(registryDir)
    if (!aggregate) output.warn(rootsOnly)
    return { url, words: ['connect', gatewayWord, ...place] }
  }
  const serve = (kind?: string) => [
    'serve',
    '--stdio',
    ...(kind === undefined ? [] : ['--dcc-type', kind]),
    ...place,
  ]
  const live = await liveInstances(registryDir, warningsTo(output))
  const needsNone = word === undefined || (serves && word === dccType)
  if (needsNone && selectInstances(live, word).length === 0) {
    const url = `http://127.0.0.1:${defaultPorts.serve}/mcp`
    const then = serves
      ? 'joins a server started later, or starts one'
      : `uses the default address ${url}`
    output.note(`found no running server: the entry ${then}`)
    return { url, kind: dccType, words: serves ? serve(dccType) : ['connect', url] }
  }
  const chosen = chooseInstance(live, word, '--instance ID, or --gateway for all of them')
  const { href: url, hostname } = localUrlOf(chosen)
  const { dcc_type: kind } = chosen
  // A restart changes the id and maybe the port, but not the kind of application.
  const isOnlyOfKind = kind !== 'unknown' && live.filter(one => one.dcc_type === kind).length === 1
  if (!isLoopback(hostname) || (!isOnlyOfKind && live.length > 1)) {
    return { url, kind, words: ['connect', url] }
  }
  const only = isOnlyOfKind ? kind : undefined
  return { url, kind, words: serves ? serve(only) : ['connect', ...(only ? [only] : []), ...place] }
}

/**
 * Whether the endpoint refuses requests without a key. One that does not answer within two seconds
 * counts as one that requires the key there is.
 */
async function asksForKey(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(2000)
  const headers = { 'user-agent': userAgent }
  const answer = await fetch(url, { redirect: 'manual', signal, headers }).catch(() => null)
  await answer?.body?.cancel()
  return answer === null ? Boolean(process.env[keyVariable]) : answer.status === 401
}
