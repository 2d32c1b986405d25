import { TokenCommand } from '../lib/cli/base-command.ts'
import { ServiceError } from '../lib/util/errors.ts'
import { openToken } from './account-context.ts'

export default class Publish extends TokenCommand {
  static override summary = 'Publish with your account (no accounts server offers it yet)'
  static override description =
    'Selects the token as other commands do, then fails with exit code 3.'
  static override examples = ['<%= config.bin %> publish']

  override async run(): Promise<void> {
    const { flags } = await this.parse(Publish)
    const { server, source } = await openToken(flags)
    const message = `${server.url} offers no publishing: nothing was published`
    const hint = `the token would have been that of ${source.source_name}`
    throw new ServiceError('request_refused', message, { hint })
  }
}
