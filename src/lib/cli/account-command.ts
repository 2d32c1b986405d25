import type { Interfaces } from '@oclif/core'
import { ServiceError } from '../util/errors.ts'
import { accountFlags } from './account-flags.ts'
import { BaseCommand } from './base-command.ts'
import { globalFlags } from './global-flags.ts'

/** Base of the commands of a person with an account. */
export abstract class AccountCommand extends BaseCommand {
  static override baseFlags = { ...globalFlags, ...accountFlags }

  /** An unexpected argument is often a password: unlike the parser, this does not repeat it. */
  protected override async parse<
    F extends Interfaces.OutputFlags<any>,
    B extends Interfaces.OutputFlags<any>,
    A extends Interfaces.OutputArgs<any>,
  >(
    options?: Interfaces.Input<F, B, A>,
    argv?: string[],
  ): Promise<Interfaces.ParserOutput<F, B, A>> {
    try {
      return await super.parse(options, argv)
    } catch (error) {
      if (!(error instanceof Error) || error.constructor.name !== 'UnexpectedArgsError') throw error
      const name = this.id?.replaceAll(':', ' ') ?? 'the command'
      throw new ServiceError('usage_invalid', `unexpected argument of ${name}`, {
        hint: `passwords, tokens and codes are not arguments: see service-cli ${name} --help`,
      })
    }
  }
}
