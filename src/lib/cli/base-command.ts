import { Command } from '@oclif/core/command'
import * as Flags from '@oclif/core/flags'
import { usageError } from './usage-errors.ts'

/** Flags of every command; they may also stand before it (`service-cli --json serve`). */
export const globalFlags = {
  json: Flags.boolean({
    description: 'print results and errors as JSON lines on stdout',
    helpGroup: 'GLOBAL',
  }),
  quiet: Flags.boolean({
    char: 'q',
    description: 'print only results, warnings and errors',
    helpGroup: 'GLOBAL',
  }),
}

/** Base of every command. Its errors about arguments are plain. */
export abstract class BaseCommand extends Command {
  static override baseFlags = globalFlags

  protected override async catch(error: Error): Promise<unknown> {
    return super.catch(usageError(error, this.ctor))
  }
}

/** Base of the commands of a user with an account. */
export abstract class AccountCommand extends BaseCommand {
  static override baseFlags = {
    ...globalFlags,
    registry: Flags.string({
      description:
        'address of the accounts server; overrides SERVICE_REGISTRY and default_registry in config.toml',
      helpGroup: 'GLOBAL',
      helpValue: 'URL',
    }),
  }
}

/** Base of the commands that use a token: one that is given, or the saved login. */
export abstract class TokenCommand extends AccountCommand {
  static override baseFlags = {
    ...AccountCommand.baseFlags,
    token: Flags.string({
      description:
        'use this token; overrides SERVICE_TOKEN, SERVICE_TOKEN_FILE and the saved login. ' +
        'The shell history keeps it: prefer SERVICE_TOKEN',
      helpGroup: 'GLOBAL',
      helpValue: 'TOKEN',
    }),
  }
}
