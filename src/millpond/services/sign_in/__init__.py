"""Single sign-on: OpenID providers and directories, rules from groups to roles, and logins of command lines."""
