"""Tools that submit, stop and suspend jobs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.client.jobs import resume_jobs, stop_jobs, submit_job, suspend_jobs
from millpond.client.submitting import send_code
from millpond.mcp.answers import document, listed
from millpond.mcp.job_arguments import Command, Cpu, Data, Env, Gpu, Image, Memory, Name, On, Spec, Timeout, task_of
from millpond.mcp.tool import Project, Tools, changes

Jobs = Annotated[list[str], Field(min_length=1, max_length=200, description="Jobs: NAME, NAME#N or id.")]


class JobChanges(Tools):
    @changes("Submit a job")
    def submit_job(
        self, command: Command, name: Name = None, data: Data = [], on: On = None, cpu: Cpu = None,  # noqa: B006
        memory: Memory = None, gpu: Gpu = None, image: Image = None, timeout: Timeout = None, env: Env = {},  # noqa: B006
        spec: Spec = {},  # noqa: B006
        code: Annotated[
            str | None, Field(description="Folder sent as the job's code, inside this server's folder, like '.'.")
        ] = None,
        project: Project = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Submit a job: a command, next to its data. Outputs are what it writes to $MILL_OUTPUT. Try plan_job first;
        then see show_job, read_log and why."""
        named = self._project(project)
        task = task_of(command=command, name=name, data=data, on=on, cpu=cpu, memory=memory, gpu=gpu, image=image,
                       timeout=timeout, env=env, spec=spec)  # fmt: skip
        task.request()  # before anything is sent
        sent = send_code(self._api, named, task, self._place.local(code)) if code is not None else {}
        return document(submit_job(self._api, named, task.request(**sent)))

    @changes("Stop jobs", destroys=True, repeatable=True)
    def stop_jobs(self, jobs: Jobs, project: Project = None) -> dict[str, Any]:
        """Stop jobs. What they made so far is kept; they do not go on."""
        return listed(stop_jobs(self._api, self._project(project), jobs), limit=200)

    @changes("Suspend jobs", repeatable=True)
    def suspend_jobs(self, jobs: Jobs, project: Project = None) -> dict[str, Any]:
        """Suspend jobs until they are resumed. They keep their checkpoints."""
        return listed(suspend_jobs(self._api, self._project(project), jobs), limit=200)

    @changes("Resume jobs", repeatable=True)
    def resume_jobs(self, jobs: Jobs, project: Project = None) -> dict[str, Any]:
        """Put suspended jobs back into the queue."""
        return listed(resume_jobs(self._api, self._project(project), jobs), limit=200)
