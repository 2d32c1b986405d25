import { TokenCommand } from '../lib/cli/base-command.ts'
import { ServiceError } from '../lib/util/errors.ts'
import { openToken } from './account/context.ts'

/** Stands for what accounts servers do not offer yet. */
export default class Publish extends TokenCommand {
  static override summary = 'Publish with your account (no accounts server offers it yet)'

  static override description = `The command selects the token as every other command does, then \
fails with exit code 3.`

  static override examples = [
    { description: 'with the saved login', command: '<%= config.bin %> publish' },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(Publish)
    const { server, source, withToken } = await openToken(flags)
    // A pipeline can be set up, and is told what is missing; only a refresh is sent.
    await withToken(async () => {
      const message = `${server.url} offers no publishing: nothing was published`
      const hint = `the token would have been that of ${source.name}`
      throw new ServiceError('request_refused', message, { hint })
    })
  }
}
