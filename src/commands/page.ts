import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from './endpoint-flags.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { processOutput, warningsTo } from '../lib/cli/output.ts'
import { unexpectedAnswer } from '../lib/mcp/client/failure.ts'
import { hostRequest } from '../lib/mcp/client/host-request.ts'
import { errnoOf, ServiceError } from '../lib/util/errors.ts'
import { findHost } from './find-host.ts'

export default class Page extends BaseCommand {
  static override summary = 'Print a link to the live page of a running server'
  static override description = `Prints a link that logs one browser in to the live page: what your AI \
can see, what changed, notes and files. It works once, for five minutes; the login lasts 12 hours, \
and no longer than the server. A browser that is logged in needs no new link.

${hostEnvironment}`
  static override examples = ['<%= config.bin %> page', '<%= config.bin %> page --open']

  static override flags = {
    open: Flags.boolean({ description: 'open the link in your browser instead of printing it' }),
    ...instanceFlags,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Page)
    const output = processOutput(flags)
    const target = await findHost(flags, warningsTo(output))
    const path = 'v1/page-login'
    const answer = await hostRequest(target, { method: 'POST', path })
    const { url: link, expires_in } = answer
    const parsed = typeof link === 'string' ? URL.parse(link) : null
    if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
      throw unexpectedAnswer(target.url, path)
    }
    // As the parser writes it, with control characters escaped.
    const url = parsed.href
    if (!flags.open) return output.result(url, { url, expires_in })
    await openBrowser(url)
    const shown = new URL('/', url).href
    await output.result(`opened ${shown}`, { opened: true, url: shown })
  }
}

/** What opens an address, without a shell that would read it. */
const openers: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens the address in the browser of the user. Throws `config_invalid` when there is none. */
async function openBrowser(url: string): Promise<void> {
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  // A program that still runs after this time is the browser itself.
  const signal = AbortSignal.timeout(3000)
  const failure = await once(child, 'exit', { signal }).then(
    ([code]) => (code === 0 ? null : `${program} ended with ${code ?? 'a signal'}`),
    error => (signal.aborted ? null : `${program}: ${errnoOf(error) ?? 'failed'}`),
  )
  child.unref()
  if (failure === null) return
  throw new ServiceError('config_invalid', `no browser can be opened (${failure})`, {
    hint: 'open the link of service-cli page, without --open',
  })
}
