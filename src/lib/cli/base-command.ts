import { Command } from '@oclif/core/command'
import { globalFlags } from './global-flags.ts'

/**
 * Base of every command. Errors pass through untouched: `main` alone turns them into text and
 * exit code, so that a failure looks the same wherever it happened.
 */
export abstract class BaseCommand extends Command {
  static override baseFlags = globalFlags

  protected override async catch(error: Error): Promise<never> {
    throw error
  }
}
