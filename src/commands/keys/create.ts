import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { selectStateDirectory } from '../../lib/config/paths.ts'
import { liveInstances } from '../../lib/instances/live-instances.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { cleanText } from '../../lib/util/text.ts'
import { runningGateways } from '../running-gateway.ts'
import { expiryOf, keyJson, keysFileOf, keysFlags } from './keys-file.ts'

type ClientKey = import('../../lib/auth/client-keys.ts').ClientKey

const unitMs: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
}
const maxLifeMs = 3650 * 86_400_000

/** Makes a key for clients of `serve` and `gateway`. */
export default class KeysCreate extends BaseCommand {
  static override summary = 'Create a key for MCP clients'

  static override description = `Prints the new key alone on stdout. It is shown only once: \
client-keys.json beside config.toml stores its hash. From the first key on, every server of your \
account requires one, running servers included. Your own commands on this machine need none.

Give each client a separate key, so that you can revoke one without the others.`

  static override examples = [
    { description: 'for one client', command: '<%= config.bin %> keys create anna-claude' },
    {
      description: 'a key that may only read, for 30 days',
      command: '<%= config.bin %> keys create review --read-only --expires-in 30d',
    },
  ]

  static override args = {
    name: Args.string({
      ignoreStdin: true,
      description: 'name of the key [default: key-1, key-2, …]',
    }),
  }

  static override flags = {
    'read-only': Flags.boolean({
      description: 'allow reading, but not answering notes or removing events',
      default: false,
    }),
    'expires-in': Flags.string({
      description: 'lifetime, as in 12h, 30d or 8w [default: until revoked]',
      helpValue: 'TIME',
    }),
    ...keysFlags,
  }

  /** The key is the only thing on stdout: this is the only time it is shown. */
  override async run(): Promise<void> {
    const { args, flags } = await this.parse(KeysCreate)
    const output = processOutput(flags)
    const { keyDigest, keyName, newKey, updateClientKeys } =
      await import('../../lib/auth/client-keys.ts')
    const file = keysFileOf(flags)
    const lifeMs = flags['expires-in'] === undefined ? null : readLife(flags['expires-in'])
    if (args.name !== undefined && !keyName.safeParse(args.name).success) {
      // Not repeated: it may be a key.
      const form = 'the name of a key has 1 to 64 letters, digits, ".", "_" or "-"; it is no key'
      throw usage(form, 'as in anna-claude')
    }
    const key = newKey()
    const made: ClientKey = {
      name: args.name ?? '',
      sha256: keyDigest(key),
      scope: flags['read-only'] ? 'read' : 'write',
      created_at: new Date().toISOString(),
      ...(lifeMs !== null && { expires_at: new Date(Date.now() + lifeMs).toISOString() }),
    }
    let isFirst = false
    await updateClientKeys(file, ({ keys }) => {
      isFirst = keys.length === 0
      made.name ||= freeName(keys)
      if (keys.some(({ name }) => name === made.name)) {
        throw new ServiceError('entry_exists', `there is a key "${made.name}" already`, {
          hint: `choose another name, or end that one with service-cli keys revoke ${made.name}`,
        })
      }
      return { keys: [...keys, made] }
    })
    const may = flags['read-only']
      ? 'may only read'
      : 'may read, answer notes, and remove the session events it has read'
    output.note(`the key "${made.name}" ${may}, and ${expiryOf(made)}; it is shown only this time`)
    const isDefault = flags['keys-file'] === undefined
    const servers = isFirst && isDefault ? await findServers(warningsTo(output)) : []
    await output.result(key, { ...keyJson(made), key, file, now_required_by: servers })
    output.note('Clients send it as a header:   Authorization: Bearer <key>')
    output.note(
      'service-cli mcp-config writes the settings of a client; it, connect and serve --stdio',
    )
    output.note('take the key from SERVICE_MCP_API_KEY.')
    if (!isFirst) return
    const which = isDefault ? 'all servers of your account' : 'servers with this --keys-file'
    output.note(`${which} ask clients for a key from now on, those that already run too`)
    for (const { name, url } of servers) output.note(`  ${cleanText(name, 80)}   ${url}`)
  }
}

/** The running servers of the account that follow its keys file, unless they were told otherwise. */
async function findServers(log: Logger): Promise<{ name: string; url: string }[]> {
  const registryDir = selectStateDirectory(undefined, process.env)
  const instances = await liveInstances({ registryDir, log, nowMs: Date.now() })
  const gateways = await runningGateways(registryDir)
  return [
    ...instances.map(({ displayName: name, url }) => ({ name, url })),
    ...gateways.map(({ written }) => ({ name: 'gateway', url: written.url })),
  ]
}

/** `30d` in milliseconds. Throws `usage_invalid`. */
function readLife(word: string): number {
  const [, count = '', unit = ''] = /^(\d{1,7})([mhdw])$/.exec(word) ?? []
  const lifeMs = Number(count) * (unitMs[unit] ?? 0)
  if (lifeMs > 0 && lifeMs <= maxLifeMs) return lifeMs
  throw usage(
    `--expires-in ${word} is not a time from 1 minute to 10 years`,
    'write a number and m, h, d or w, as in 30d',
  )
}

function freeName(keys: readonly ClientKey[]): string {
  const taken = new Set(keys.map(({ name }) => name))
  for (let number = 1; ; number++) if (!taken.has(`key-${number}`)) return `key-${number}`
}
