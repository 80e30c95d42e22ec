"""Who there is and what each may do: users, projects, sessions, tokens, secrets, and the record of every change."""
