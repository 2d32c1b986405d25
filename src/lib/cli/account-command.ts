import type { Interfaces } from '@oclif/core'
import { ServiceError } from '../errors.ts'
import { accountFlags } from './account-flags.ts'
import { BaseCommand } from './base-command.ts'
import { globalFlags } from './global-flags.ts'

/** Base of the commands of a person with an account. */
export abstract class AccountCommand extends BaseCommand {
  static override baseFlags = { ...globalFlags, ...accountFlags }

  /** A word too many is often a password: unlike the parser, this does not repeat it. */
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
      throw new ServiceError('usage_invalid', `${name} got more words than it takes`, {
        hint: `secrets are no words of their own: service-cli ${name} --help shows the flags`,
      })
    }
  }
}
