import { TextLink } from "./TextLink";

export function ProjectLink({ project }: { project: string }) {
  return (
    <TextLink to="/projects/$project" params={{ project }} size="sm" className="unbroken">
      {project}
    </TextLink>
  );
}
