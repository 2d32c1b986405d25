import { noteAction } from './note-action.ts'

export default noteAction({
  action: 'reopen',
  summary: 'Reopen a note',
  description: 'Reopens a note that is answered, accepted or closed. The agent is told.',
  example: '<%= config.bin %> notes reopen 3 "Still too bright"',
  text: 'what is missing',
})
