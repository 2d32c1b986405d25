/** In `_meta` of calls that no model made, such as those of the live view in a chat. */
export const liveAppKey = 'service-cli/live'

/** In `_meta` of the calls of programs, which want the answer as data, too. */
export const dataKey = 'service-cli/data'

/** In `_meta` of a list: what it lacks because it could not be had. */
export const incompleteKey = 'service-cli/incomplete'
